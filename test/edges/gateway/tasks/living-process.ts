import { openLiveness } from '../../../../src/edges/gateway/tasks/liveness.ts';

/** Lives beside a test, in the folder that it names, until it is killed or its input ends. */
const { id, close } = await openLiveness(process.argv[2] ?? '');
process.stdout.write(`${id}\n`);
for await (const _ of process.stdin);
await close();
