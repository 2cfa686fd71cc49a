import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { pino } from 'pino';
import { type Dial, dialPort } from '../../src/edges/indexer/probe/dial.ts';
import { createProber } from '../../src/edges/indexer/probe/prober.ts';
import { startBlackHole } from '../../test/edges/indexer/probe/fake-node.ts';
import type { Context } from '../context.ts';
import { milliseconds } from '../rounds.ts';
import type { Figures, Row } from '../row.ts';

const sampleMs = 50;
const megabyte = 1024 * 1024;

/**
 * How long a sweep over very many nodes takes of which half never answer a connection, with the limits of the program.
 */
export function rows(context: Context): readonly Row[] {
  const many = context.size(10_000, 300);
  return [
    {
      name: 'sweep-10000',
      unit: 's',
      better: 'lower',
      peerName: null,
      target: { ours: 60 },
      measure: () => sweepFigures(context, many),
    },
  ];
}

/**
 * One sweep over as many nodes on real connections: seconds, and in the note the sockets and memory that it took at
 * most.
 */
export async function sweepFigures({ signal, say }: Pick<Context, 'signal' | 'say'>, nodes: number): Promise<Figures> {
  await using fleet = await startFleet();
  const passed = new Map<string, boolean>();
  const probe = createProber({
    allowPrivate: false,
    allowHostNames: false,
    dial: fleet.dial,
    signal,
    recorder: { add: ({ node, statusAnswer }) => void passed.set(node, statusAnswer === 'ok') },
    logger: pino({ level: 'silent' }),
    servicesAskedAt: new Map(),
  });
  const addresses = Array.from({ length: nodes }, (_, n) => [`node${n}`, addressOf(n)] as const);
  const peak = watchPeak();
  const ms = await milliseconds(() => probe({ nodes: new Map(addresses), reason: {}, spreadMs: 0, isFresh: true }));
  const { sockets, memory } = peak();
  const good = [...passed.values()].filter(Boolean).length;
  if (passed.size !== nodes || good !== nodes / 2)
    throw new Error(`${good} of ${nodes} nodes passed, not half of them`);
  const note = `at most ${sockets} files open, ${memory} MB more memory`;
  say(`${nodes} nodes in ${(ms / 1000).toFixed(1)} s, ${note}`);
  return { ours: ms / 1000, peer: null, ratio: null, note };
}

/** Every second one is a black hole. */
const addressOf = (n: number): string => `1.${n % 2}.${Math.floor(n / 200) % 200}.${n % 200}:4444`;

/** Healthy nodes that take a second, and black holes, behind addresses that are nobody's here. */
async function startFleet(): Promise<AsyncDisposable & { dial: Dial }> {
  const hole = await startBlackHole();
  const child = fork(new URL('../fleet.ts', import.meta.url));
  const [ports]: unknown[] = await once(child, 'message');
  const [grpc = 0, peers = 0, http = 0] = Array.isArray(ports) ? ports.map(Number) : [];
  const healthy: Readonly<Record<number, number>> = { 4444: grpc, 4445: peers, 8002: http };
  const dial: Dial = (ip, port, options) =>
    dialPort('127.0.0.1', ip.startsWith('1.0.') ? (healthy[port] ?? 0) : hole.port, options);
  const end = async (): Promise<void> => {
    child.disconnect();
    await once(child, 'exit');
    await hole[Symbol.asyncDispose]();
  };
  return { dial, [Symbol.asyncDispose]: end };
}

function watchPeak(): () => { sockets: number; memory: number } {
  const before = process.memoryUsage.rss();
  let sockets = 0;
  let most = before;
  const timer = setInterval(() => {
    sockets = Math.max(sockets, readdirSync('/proc/self/fd').length);
    most = Math.max(most, process.memoryUsage.rss());
  }, sampleMs);
  return () => {
    clearInterval(timer);
    return { sockets, memory: Math.round((most - before) / megabyte) };
  };
}
