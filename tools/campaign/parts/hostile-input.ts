import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { pino } from 'pino';
import { besiege } from '../../../test/edges/node/hostile/besiege.ts';
import { fileBounds } from '../../../test/edges/node/files-under-test.ts';
import { nodeUnderTest } from '../../../test/edges/node/node-under-test.ts';
import { openLedgerWorld } from '../../../test/support/chains/ledger-world.ts';
import type { PartOptions, Tally } from '../part.ts';

const silenceMs = 2_000;
/** What the heap may have grown by after thousands of connections: what they needed is gone with them. */
const grownMib = 24;

/**
 * So many malformed frames, requests and handshakes on each port of a SuperNode: none is answered as a fault of the
 * node, others are served meanwhile, and neither a connection nor memory is left behind.
 */
export async function run({ count, seed, log }: PartOptions): Promise<Tally> {
  const tally = { passed: 0, failed: 0 };
  await using undo = new AsyncDisposableStack();
  const { ledger, node: listed } = await openLedgerWorld(undo);
  const options = { key: listed.account.key, chainUrl: ledger.url, cascade: fileBounds, silenceMs };
  const node = undo.use(await nodeUnderTest({ ...options, logger: pino({ level: 'error' }, process.stderr) }));
  await besiege(node, 'grpc', { count: 200, seed: 'warm' });
  const before = heapMib();
  for (const port of ['grpc', 'http', 'p2p'] as const) {
    const faults = await besiege(node, port, { count, seed: String(seed) });
    for (const fault of faults) log(`${port}: ${fault}`);
    tally.failed += faults.length;
  }
  const grown = heapMib() - before;
  log(`the heap has grown by ${grown.toFixed(1)} MiB`);
  if (grown > grownMib) tally.failed += 1;
  return { ...tally, passed: Math.max(0, count - tally.failed) };
}

/** What is in use once garbage is gone. */
function heapMib(): number {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect === 'function') collect();
  return process.memoryUsage().heapUsed / 2 ** 20;
}
