import { type ChildProcess, fork } from 'node:child_process';
import { once as event } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pino } from 'pino';
import { loadProfile } from '../../src/edges/chain/rest/profile.ts';
import { startLocalNodes } from '../../src/edges/local-network/nodes/local-nodes.ts';
import { smallYoungGeneration } from '../../src/edges/local-network/nodes/child.ts';
import { type Context, once } from '../context.ts';
import { percentile } from '../rounds.ts';
import type { Row } from '../row.ts';
import type { StatusCalls } from '../status-calls.ts';

const host = '127.0.0.1';

/** What 99 of 100 callers of GetStatus wait at most, 500 of them a second, each timed from when it was due. */
export function rows(context: Context): readonly Row[] {
  const address = once(() => startNode(context));
  const call = once(() => startCaller(context));
  const row = (name: string, includeP2pMetrics: boolean, ours: number): Row => ({
    name,
    unit: 'ms',
    better: 'lower',
    peerName: null,
    target: { ours },
    measure: async () => {
      const calls = { address: await address(), includeP2pMetrics, seconds: context.size(10, 1) };
      const callAll = await call();
      return await context.inTurn('lower', async () => percentile(await callAll(calls), 99));
    },
  });
  return [row('status-p99', false, 5), row('status-with-metrics-p99', true, 10)];
}

/** A node in a process of its own, as the local network has them; its chain is out of reach. */
export async function startNode(context: Context): Promise<string> {
  const folder = await context.folder('node');
  const keyFile = path.join(folder, 'key');
  await writeFile(keyFile, '01'.repeat(32));
  const local = await startLocalNodes({
    plan: {
      chainUrl: `http://${host}:1`,
      profile: loadProfile('local'),
      version: '0.0.0',
      snapshotMs: 30_000,
      secure: true,
      files: { storageBytes: 2 ** 30, maxFileBytes: 2 ** 30, copies: 1, repairAfterMs: 600_000, allowPrivate: true },
      log: { level: 'error', format: 'json' },
    },
    nodes: [{ host, ports: { grpc: 0, p2p: 0, http: 0 }, folder, keyFile }],
    apart: false,
    logger: pino({ level: 'error' }, process.stderr),
    signal: context.signal,
  });
  context.defer(local.stop);
  return `${host}:${local.nodes[0]?.ports()?.grpc}`;
}

const program = new URL('../status-calls.ts', import.meta.url);

/**
 * Starts a process that calls GetStatus, and returns what gives how long each call took, in milliseconds.
 *
 * It collects its garbage as a node does: where a usual young generation of the caller is collected, a dozen calls
 * wait 10 ms longer, and with five such pauses in ten seconds the figure would be the caller's.
 */
export async function startCaller({ defer }: Context): Promise<(calls: StatusCalls) => Promise<readonly number[]>> {
  const child = fork(program, { execArgv: [...process.execArgv, ...smallYoungGeneration] });
  defer(() => child.kill());
  await reply(child);
  return async (calls) => {
    child.send(calls);
    const took = await reply(child);
    if (!Array.isArray(took)) throw new Error(String(took));
    return took as number[];
  };
}

async function reply(child: ChildProcess): Promise<unknown> {
  const gone = event(child, 'exit').then(() => 'The process that calls has ended');
  return await Promise.race([event(child, 'message').then(([message]) => message as unknown), gone]);
}
