import { type Position, type Positions, parsePositions } from '../../src/edges/http/positions.ts';
import { positionToken } from '../../src/edges/indexer/rest/headers.ts';
import type { StreamName } from '../../src/events/streams.ts';
import { until } from '../support/polling.ts';
import type { ProgramLog } from '../support/programs/program-log.ts';
import { byLease, type Replica } from './scaled-out-rig.ts';

/** What readers saw: how many answers, how many were refused for a moment by code, and what was wrong. */
export type TokenReads = Readonly<{
  answers: number;
  refused: Readonly<Record<string, number>>;
  complaints: readonly string[];
}>;

type Options = Readonly<{
  /** Those that answer; the last one stops and goes on again and again. */
  replicas: readonly Replica[];
  /** The one that leads stops as well, in turn with the last replica. */
  projectors: readonly Replica[];
  log: ProgramLog;
  /** Answers to be had. */
  count: number;
}>;

const readersEach = 6;
const list = '/v1/actions?limit=1';
const paths = [list, '/v1/actions/stats', '/v1/supernodes/stats'];
const readsToStall = 100;
const mostStalls = 12;

/**
 * Reads from all replicas by tokens of the newest position that anybody has seen, in the log or in an answer, while
 * one replica or the leading projector does not run: no answer may be of before its token, and the actions that it
 * counts are those that the log has at its own position.
 */
export async function readByTokens({ replicas, projectors, log, count }: Options): Promise<TokenReads> {
  const stopping = replicas.at(-1);
  if (!stopping) throw new Error('There is no replica');
  const reads = new Reads(log);
  const stalls = Math.min(Math.ceil(count / readsToStall), mostStalls);
  const stall = async (n: number): Promise<void> => {
    const reach = async (share: number) =>
      await until('further answers have come', () => reads.answers >= ((n + share) * count) / stalls);
    await reach(0);
    const [one] = n % 2 === 0 ? [stopping] : await byLease(projectors, 'projection.actions');
    process.kill(one.program.pid, 'SIGSTOP');
    await reach(0.5).finally(() => process.kill(one.program.pid, 'SIGCONT'));
  };
  let isOver = false;
  const readers = replicas.flatMap(({ program }) =>
    Array.from({ length: readersEach }, async (_, reader) => {
      for (let n = reader; !isOver && reads.answers < count; n += 1) await reads.ask(program.base, n);
    }),
  );
  const stalling = async (): Promise<void> => {
    for (let n = 0; n < stalls; n += 1) await stall(n);
  };
  await Promise.all([...readers, stalling()]).finally(() => (isOver = true));
  return {
    answers: reads.answers,
    refused: reads.refused,
    complaints: [...reads.complaints, ...(await reads.miscounted())],
  };
}

/** Readers that tell each other the newest position of each stream. */
class Reads {
  answers = 0;
  readonly refused: Record<string, number> = {};
  readonly complaints: string[] = [];
  readonly #log: ProgramLog;
  readonly #newest = new Map<StreamName, Position>();
  readonly #totals: (readonly [sequence: number, total: number])[] = [];

  constructor(log: ProgramLog) {
    this.#log = log;
  }

  async ask(base: string, n: number): Promise<void> {
    if (n % 5 === 0 || this.#newest.size === 0) await this.#seeLog();
    const path = paths[n % paths.length] ?? list;
    const token = [...this.#newest].map(([stream, position]) => ({ stream, ...position }));
    const headers = { 'annals-position': positionToken(token), prefer: 'wait=10' };
    const response = await fetch(base + path, { headers });
    const { code, total } = (await response.json()) as { code?: string; total?: number };
    const answered = parsePositions(response.headers.get('annals-position') ?? '');
    // Whoever stood still longer than the database waits for a transaction has lost it.
    if (response.status === 503) return void (this.refused[code ?? ''] = (this.refused[code ?? ''] ?? 0) + 1);
    this.answers += 1;
    if (response.status !== 200 || !answered) return void this.complaints.push(`${path}: ${response.status} ${code}`);
    for (const { stream, sequence } of token)
      if ((answered.get(stream)?.sequence ?? sequence) < sequence)
        this.complaints.push(`${path}: ${stream} ${answered.get(stream)?.sequence}, asked by ${sequence}`);
    if (path === list) this.#totals.push([answered.get('ACTIONS')?.sequence ?? -1, total ?? -1]);
    this.#see(answered);
  }

  async #seeLog(): Promise<void> {
    const { incarnation, lastSequence } = await this.#log.head('ACTIONS');
    this.#see(new Map([['ACTIONS', { incarnation, sequence: lastSequence }]]));
  }

  #see(positions: Positions): void {
    for (const [stream, position] of positions)
      if (position.sequence > (this.#newest.get(stream)?.sequence ?? -1)) this.#newest.set(stream, position);
  }

  /** Answers that count other actions than the log has at their position. */
  async miscounted(): Promise<string[]> {
    const totals = await totalsOf(this.#log);
    const wrong = this.#totals.filter(([sequence, total]) => total !== totals[sequence]);
    return wrong.map(([sequence, total]) => `${total} actions at ${sequence}, not ${totals[sequence]}`);
  }
}

/** How many actions there are at each sequence. */
async function totalsOf(log: ProgramLog): Promise<number[]> {
  const [actions, totals] = [new Set<string>(), [0]];
  for (const { fact, sequence } of await log.factsOf('ACTIONS')) {
    if ('action' in fact.data) actions.add(fact.data.action);
    totals[sequence] = actions.size;
  }
  return totals;
}
