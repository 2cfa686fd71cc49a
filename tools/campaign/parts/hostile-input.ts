import { pino } from 'pino';
import { besiege } from '../../../test/edges/node/hostile/besiege.ts';
import { filesOf } from '../../../test/edges/node/files-under-test.ts';
import { nodeUnderTest } from '../../../test/edges/node/node-under-test.ts';
import { openLedgerWorld } from '../ledger-world.ts';
import type { PartOptions, Tally } from '../part.ts';

const silenceMs = 2_000;
/** What a heap may have grown by after thousands of connections; what they need while they last is gone then. */
const grownMb = 64;

/**
 * So many malformed frames, requests and handshakes on each port of a SuperNode: none is answered as a fault of the
 * node, others are served meanwhile, and neither a connection nor memory is left behind.
 */
export async function run({ count, seed, log }: PartOptions): Promise<Tally> {
  const tally = { passed: 0, failed: 0 };
  await using undo = new AsyncDisposableStack();
  const { ledger, node: listed } = await openLedgerWorld(undo);
  const options = { key: listed.account.key, chainUrl: ledger.url, cascade: filesOf(ledger), silenceMs };
  const node = undo.use(await nodeUnderTest({ ...options, logger: pino({ level: 'error' }, process.stderr) }));
  await besiege(node, 'grpc', { count: 200, seed: 'warm' });
  const before = process.memoryUsage().heapUsed;
  for (const port of ['grpc', 'http', 'p2p'] as const) {
    const faults = await besiege(node, port, { count, seed: String(seed) });
    for (const fault of faults) log(`${port}: ${fault}`);
    tally.failed += faults.length;
    tally.passed += count - faults.length;
  }
  const grown = (process.memoryUsage().heapUsed - before) / 2 ** 20;
  log(`the heap has grown by ${Math.round(grown)} MiB`);
  return grown <= grownMb ? tally : { ...tally, failed: tally.failed + 1 };
}
