import { readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { jetstreamManager } from '@nats-io/jetstream';
import { Kvm } from '@nats-io/kv';
import { expect, onTestFinished, test } from 'vitest';
import { type BothStores, bothStoresOf } from '../../../src/edges/audit/archiver.ts';
import { guardStreams } from '../../../src/edges/audit/stream-guard.ts';
import { startNats } from '../../../src/edges/servers/nats/nats-server.ts';
import { damagedMeta, streamsFolder, type Sums } from '../../../src/edges/servers/nats/stream-files.ts';
import { connectNats } from '../../../src/edges/log/connection.ts';
import { ensureStreams } from '../../../src/edges/log/streams.ts';
import { migrate } from '../../../src/edges/models/migrate.ts';
import { until } from '../../support/polling.ts';
import { temporaryFolder } from '../../support/processes.ts';
import { freshDatabase } from '../../support/servers.ts';
import { databaseOf, silent } from '../models/engine.ts';

const network = 'guarded';

/** A broker of its own, whose files may be damaged, with all streams and a bucket. */
async function broker() {
  const dir = temporaryFolder();
  const server = await startNats({ dir, host: '127.0.0.1', port: 0, wsPort: 0, ephemeral: true, say: () => undefined });
  onTestFinished(() => server.stop());
  const nc = await connectNats({ ...server, name: 'guard' });
  onTestFinished(() => nc.close());
  await ensureStreams(nc, network);
  await new Kvm(nc).create('bucket', { history: 1 });
  return { nc, folder: streamsFolder(dir) };
}

/** Guards the streams until the test ends. */
async function guarded({ nc, folder }: Awaited<ReturnType<typeof broker>>) {
  const { pools } = databaseOf(await freshDatabase(), network);
  await migrate({ pools, network });
  const stores = bothStoresOf(nc, { network, pools });
  const { store } = stores;
  await store.lead('NODES', 'this life');
  const ending = new AbortController();
  const common = { ...stores, log: silent, scrubIntervalMs: 50, signal: ending.signal };
  const running = guardStreams({ ...common, folder });
  onTestFinished(async () => {
    ending.abort();
    await running;
  });
  return store;
}

const flip = (file: string): void => {
  const bytes = readFileSync(file);
  bytes.writeUInt8(bytes.readUInt8(100) ^ 4, 100);
  writeFileSync(file, bytes);
};
const harms: [what: string, file: string, harm: (file: string) => void][] = [
  ['a flipped bit in the description', `NODES_${network}/meta.inf`, flip],
  ['a description that was cut', `NODES_${network}/meta.inf`, (file) => truncateSync(file, 30)],
  ['a sum that was deleted', `NODES_${network}/meta.sum`, (file) => rmSync(file)],
  ['the description of a bucket that was deleted', 'KV_bucket/meta.inf', (file) => rmSync(file)],
];

test.each(harms)('guardStreams mends %s', async (_, name, harm) => {
  const own = await broker();
  const file = path.join(own.folder, name);
  const before = readFileSync(file, 'utf8');
  const store = await guarded(own);
  harm(file);
  await until('the file is as it was', () => readFileSync(file, 'utf8') === before, 20_000);
  if (!name.startsWith('NODES')) return;
  await until('it is told', async () => (await mendedOf(store)).length === 2);
  expect(await mendedOf(store)).toEqual([expect.stringContaining(path.basename(name)), 'The broker wrote it anew.']);
});

test('damagedMeta knows a sum by the description that it was first seen with', async () => {
  const { nc, folder } = await broker();
  const told = await (await jetstreamManager(nc)).streams.info(`ACTIONS_${network}`);
  const file = path.join(folder, told.config.name, 'meta.sum');
  const sums: Sums = new Map();
  expect(await damagedMeta(folder, told, sums)).toBeUndefined();
  const before = readFileSync(file, 'utf8');
  writeFileSync(file, before.startsWith('0') ? before.replace('0', '1') : before.replace(/./, '0'));
  expect(await damagedMeta(folder, told, sums)).toMatch(/meta.sum of ACTIONS_guarded/);
  writeFileSync(file, before);
  expect(await damagedMeta(folder, told, sums)).toBeUndefined();
});

async function mendedOf({ standings }: BothStores['store']): Promise<readonly string[]> {
  return (await standings()).find(({ stream }) => stream === 'NODES')?.mended ?? [];
}
