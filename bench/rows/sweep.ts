<<<<<<< HEAD
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { type ProbeOptions, probeNode } from '../../src/edges/probe/probe.ts';
import { runProbing } from '../../src/edges/probe/rounds.ts';
import { dialInstead, startBlackHole, startNode } from '../../test/edges/probe/fake-node.ts';
import { nodeFacts } from '../../test/support/facts.ts';
import type { Context } from '../context.ts';
import { connectTo, freshLog } from '../log.ts';
import { type Contender, milliseconds } from '../rounds.ts';
import type { Row } from '../row.ts';

const real = 10;
const sample = 8;

/** Probing 200 nodes, every second one of which never answers, until the last outcome is in the log. */
export function rows(context: Context): readonly Row[] {
  return [
    {
      name: 'sweep',
      unit: 's',
      better: 'lower',
      peerName: `one node after the other, told from ${sample} of them`,
      target: { ours: 8 },
      measure: async () => {
        const count = context.size(200, 20);
        const dial = await startNodes(context);
        return context.inTurn('lower', await together(context, count, dial), () =>
          Promise.resolve(inARow(count, dial)),
        );
      },
    },
  ];
}

type Dialling = Pick<ProbeOptions, 'dial' | 'allowPrivate' | 'allowHostNames'>;

const ipOf = (n: number) => `1.2.${n >> 8}.${n % 256}`;
const isDead = (ip: string) => Number(ip.split('.').at(-1)) % 2 === 1;

/** Real sockets on loopback behind every address: some nodes that answer, and a port that never does. */
async function startNodes(context: Context): Promise<Dialling> {
  const nodes = await Promise.all(Array.from({ length: real }, () => startNode()));
  const hole = await startBlackHole();
  context.defer(() => Promise.all([...nodes, hole].map((one) => one[Symbol.asyncDispose]())));
  const dead = { 4444: hole.port, 4445: hole.port, 8002: hole.port };
  const dial = dialInstead((ip) => {
    const node = nodes[Number(ip.split('.').at(-1)) % real];
    return isDead(ip) || !node ? dead : node.doors;
  });
  return { dial, allowPrivate: false, allowHostNames: false };
}

async function together(context: Context, count: number, how: Dialling): Promise<Contender> {
  const nc = await connectTo(context, 'strict');
  const logger = pino({ level: 'error' }, process.stderr);
  return async () => {
    const { log } = await freshLog(nc);
    const decisions = Array.from({ length: count }, (_, n) => {
      const entity = `node${n}`;
      return {
        kind: 'node',
        entity,
        facts: [nodeFacts(entity).listed({ address: `${ipOf(n)}:4444` })],
        expected: 0,
      } as const;
    });
    await log.append(decisions, { at: new Date().toISOString() });
    const ending = new AbortController();
    const { signal } = ending;
    const leases = { hold: (_: string, held: AbortSignal, run: Run) => run({ revision: 1, signal: held }) };
    let probing: Promise<void> | undefined;
    const ms = await milliseconds(async () => {
      probing = runProbing({ ...how, log, leases, intervalMs: 60_000, logger, signal });
      while ((await log.lastOfAll('probe')).size < count) await pause(20, undefined, { signal: context.signal });
    });
    ending.abort();
    await probing;
    return ms / 1000;
  };
}

type Run = (held: Readonly<{ revision: number; signal: AbortSignal }>) => Promise<void>;

function inARow(count: number, how: Dialling): Contender {
  const { signal } = new AbortController();
  return async () => {
    const ms = await milliseconds(async () => {
      for (let n = 0; n < sample; n++) await probeNode(`${ipOf(n)}:4444`, { ...how, isServicesDue: true, signal });
    });
    return (ms / 1000 / sample) * count;
=======
import { readdirSync } from 'node:fs';
import { pino } from 'pino';
import { type Dial, dialPort } from '../../src/edges/probe/dial.ts';
import { createProber } from '../../src/edges/probe/prober.ts';
import { type Doors, httpPort, recorded, silentPort, startBlackHole } from '../../test/edges/probe/fake-node.ts';
import type { Context } from '../context.ts';
import { milliseconds } from '../rounds.ts';
import type { Figures, Row } from '../row.ts';

const sampleMs = 50;
const megabyte = 1024 * 1024;
/** A real node takes this long for its status. */
const statusMs = 1_000;

/** How long a sweep over nodes takes of which half never answer a connection, with the limits of the program. */
export function rows(context: Context): readonly Row[] {
  const shape = { unit: 's', better: 'lower', peerName: null } as const;
  const many = context.size(10_000, 300);
  return [
    { ...shape, name: 'sweep-200', target: { ours: 8 }, measure: () => sweepFigures(context, 200) },
    { ...shape, name: 'sweep-10000', target: { ours: 60 }, measure: () => sweepFigures(context, many) },
  ];
}

/** One sweep over as many nodes on real connections: seconds, and in the note the sockets and memory that it took at most. */
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
  const note = `at most ${sockets} files open, both ends of each connection counted, ${memory} MB more memory`;
  say(`${nodes} nodes in ${(ms / 1000).toFixed(1)} s, ${note}`);
  return { ours: ms / 1000, peer: null, ratio: null, note };
}

/** Every second one is a black hole. */
const addressOf = (n: number): string => `1.${n % 2}.${Math.floor(n / 200) % 200}.${n % 200}:4444`;

/** Healthy nodes that take a second, and black holes, behind addresses that are nobody's here. */
async function startFleet(): Promise<AsyncDisposable & { dial: Dial }> {
  const stack = new AsyncDisposableStack();
  const http = stack.use(
    await httpPort((_, response) => void setTimeout(recorded, statusMs, response, 'status-p2p-snake')),
  );
  const [grpc, peers] = [stack.use(await silentPort()), stack.use(await silentPort())];
  const hole = stack.use(await startBlackHole());
  const healthy: Doors = { 4444: grpc.port, 4445: peers.port, 8002: http.port };
  const dial: Dial = (ip, port, options) =>
    dialPort('127.0.0.1', ip.startsWith('1.0.') ? (healthy[port] ?? 0) : hole.port, options);
  return { dial, [Symbol.asyncDispose]: () => stack.disposeAsync() };
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
>>>>>>> 6fe9bb0 (Measure new and unchanged actions, and sweeps over 200 and 10,000 nodes of which half are black holes)
  };
}
