import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { SupernodeService } from '../../src/edges/gen/supernode/supernode_pb.ts';
import { openLedgerWorld } from '../../test/support/chains/ledger-world.ts';
import { until } from '../../test/support/polling.ts';
import { bounded, type Measured } from '../bounded.ts';
import type { Context } from '../context.ts';
import { fillStorage, startLimitedNodes } from '../files/limited-nodes.ts';
import { idlePercent } from '../idle.ts';
import { milliseconds, percentile } from '../rounds.ts';
import type { Row } from '../row.ts';

const host = '127.0.0.1';
const betweenCallsMs = 10;

/**
 * A SuperNode with 20,000 files in a process that may open 1,024: how soon it knows its files, how long GetStatus
 * takes, and how much of a core it uses when nobody asks.
 */
export function rows(context: Context): readonly Row[] {
  return bounded('many-files', () => measure(context), {
    start: ['ms', 3_000],
    'status-p99': ['ms', 10],
    idle: ['% of a core', 2],
  });
}

async function measure(context: Context): Promise<Measured<'start' | 'status-p99' | 'idle'>> {
  const files = context.size(20_000, 100);
  const undo = new AsyncDisposableStack();
  context.defer(async () => await undo.disposeAsync());
  const { ledger, node, folder } = await openLedgerWorld(undo);
  await fillStorage(path.join(folder, 'storage'), node.account.account, files);
  const keyFile = path.join(folder, 'key');
  await writeFile(keyFile, Buffer.from(node.account.key.bytes).toString('hex'));
  const child = await startLimitedNodes(ledger.url);
  undo.defer(child.stop);
  const began = performance.now();
  const { grpc } = await child.start({ host, ports: { grpc: 0, p2p: 0, http: 0 }, folder, keyFile });
  const openMs = performance.now() - began;
  await until('all files are known', async () => (await child.observe())[0]?.state?.files === files);
  const start = performance.now() - began;
  const p99 = await p99Of(`http://${host}:${grpc}`, context.size(1_000, 20));
  const idle = await idlePercent(child.pid ?? 0, context.size(60_000, 500), context.signal);
  return {
    figures: { start, 'status-p99': p99, idle },
    note: `${files} files, ports open after ${Math.round(openMs)} ms`,
  };
}

async function p99Of(baseUrl: string, calls: number): Promise<number> {
  const client = createClient(SupernodeService, createGrpcTransport({ baseUrl }));
  const took: number[] = [];
  for (let call = 0; call < calls; call += 1) {
    took.push(await milliseconds(async () => await client.getStatus({ includeP2pMetrics: true })));
    await pause(betweenCallsMs);
  }
  return percentile(took, 99);
}
