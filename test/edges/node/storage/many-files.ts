/** Sweeps a store of many files and prints how many it knows; runs in a process of few file descriptors. */
import { openStorage } from '../../../../src/edges/node/storage/storage.ts';

const [, , folder = ''] = process.argv;
const store = await openStorage({ folder, bound: -1 });
await store.sweep(async () => 'unknown');
process.stdout.write(`${(await store.files()).length} files, ${store.index.counts().pieces} pieces\n`);
