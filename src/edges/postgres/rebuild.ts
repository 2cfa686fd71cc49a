import type pg from 'pg';
import { AppError } from '../../commands/errors.ts';
import type { AnyProjection } from '../../projections/all.ts';
import { type Applier, checkCommitted, createApplier, notification } from './apply.ts';
import { type Folding, foldingOf } from './folding.ts';
import { createGeneration, createIndexes, dropUnfinished } from './generation-tables.ts';
import { type Generation, liveGeneration } from './generations.ts';
import { metaSchema } from './names.ts';
import { type Pools, withClient } from './pool.ts';
import type { Source } from './source.ts';

/** How far a rebuild has come: facts read of about how many, and how many a second so far. */
export type Progress = Readonly<{ done: number; total: number; perSecond: number }>;

/** What a rebuild needs, and who wants to hear of it. */
export type RebuildOptions = Readonly<{
  pools: Pools;
  source: Source;
  projection: AnyProjection;
  network: string;
  onProgress?: (progress: Progress) => void;
  signal: AbortSignal;
}>;

/** What a rebuild ended with: the generation that is live now. */
export type Rebuilt = Readonly<{ generation: number; position: number; facts: number }>;

const maxFacts = 20_000;
/** Writers and readers of the live generation wait no longer than this for a switch. */
const switchWithinMs = 10_000;

/**
 * Builds the next generation of a projection from the first fact on, then switches readers over to it.
 *
 * May run in any process, beside the live projector and under readers: they see no error, and no position goes back unless
 * the log was replaced. Fails with `CONFLICT` while another rebuild of the projection runs; what a rebuild left
 * unfinished is dropped by the next one.
 *
 * @example await rebuild({ pools, source: log, projection: actions, network: 'local', signal })
 */
export async function rebuild(options: RebuildOptions): Promise<Rebuilt> {
  const folding = foldingOf(options.projection);
  return withClient(options.pools.bulk, async (client) => {
    await takeBuildLock(client, options.network, folding.name);
    const rebuilt = await build(client, folding, options);
    await client.query('select pg_advisory_unlock_all()');
    return rebuilt;
  });
}

/** The lock belongs to the connection: it ends with the process, however that ends. */
async function takeBuildLock(client: pg.ClientBase, network: string, projection: string): Promise<void> {
  const { rows } = await client.query<{ ours: boolean }>(
    'select pg_try_advisory_lock(hashtextextended($1, 2)) as ours',
    [`${metaSchema(network)} ${projection}`],
  );
  if (!rows[0]?.ours)
    throw new AppError('CONFLICT', `Projection ${projection} is being rebuilt already; wait for that to end`);
}

async function build(client: pg.PoolClient, folding: Folding, options: RebuildOptions): Promise<Rebuilt> {
  const { source, network, signal } = options;
  await dropUnfinished(client, network, folding.name);
  const head = await source.head(folding.stream);
  const generation = await createGeneration(client, folding, { network, incarnation: head.incarnation });
  const applier = createApplier(folding, generation, network);
  const load = loader(client, applier, {
    ...options,
    stream: folding.stream,
    total: head.lastSequence - head.firstSequence + 1,
  });
  await client.query('set synchronous_commit = off');
  await load.upTo(head.firstSequence > head.lastSequence ? 0 : head.lastSequence, signal);
  await createIndexes(client, folding, generation.schema);
  await load.toTheEnd(signal);
  await client.query('reset synchronous_commit');
  await switchOver(client, generation, applier, options);
  return { generation: generation.generation, position: applier.position(), facts: load.done() };
}

type Loader = Readonly<{
  upTo: (sequence: number, signal: AbortSignal) => Promise<void>;
  /** Until little more than one batch is missing, which is what a switch may hold others up for. */
  toTheEnd: (signal: AbortSignal) => Promise<void>;
  done: () => number;
}>;

type Loading = RebuildOptions & Readonly<{ stream: Generation['stream']; total: number }>;

function loader(client: pg.ClientBase, applier: Applier, { source, stream, total, onProgress }: Loading): Loader {
  const began = performance.now();
  let done = 0;
  const follow = async (signal: AbortSignal, isEnough: (behind: number) => boolean): Promise<void> => {
    for await (const { facts, behind } of source.follow(stream, applier.position(), { maxFacts, signal })) {
      if (!(await applier.apply(client, facts))) throw replaced(stream);
      done += facts.length;
      onProgress?.({ done, total, perSecond: done / Math.max((performance.now() - began) / 1000, 0.001) });
      if (isEnough(behind)) return;
    }
    throw ended(signal);
  };
  return {
    upTo: async (sequence, signal) => {
      if (applier.position() < sequence) await follow(signal, () => applier.position() >= sequence);
    },
    toTheEnd: async (signal) => {
      const head = await source.head(stream);
      if (head.firstSequence > head.lastSequence || applier.position() >= head.lastSequence) return;
      await follow(signal, (behind) => behind < maxFacts / 10);
    },
    done: () => done,
  };
}

/** Makes a generation the live one, in one transaction that applies what the live one has and it has not. */
async function switchOver(
  client: pg.ClientBase,
  next: Generation,
  applier: Applier,
  options: RebuildOptions,
): Promise<void> {
  const { source, network } = options;
  const table = `${metaSchema(network)}.generations`;
  const inTime = AbortSignal.any([options.signal, AbortSignal.timeout(switchWithinMs)]);
  await client.query('begin');
  const live = await liveGeneration(client, { network, projection: next.projection, lock: true });
  const { incarnation, lastSequence } = await source.head(next.stream);
  if (incarnation !== next.incarnation) throw replaced(next.stream);
  if (live?.incarnation === incarnation && live.position <= lastSequence)
    await catchUp(client, applier, { source, stream: next.stream, to: live.position, signal: inTime });
  await client.query(
    `update ${table} set status = 'retired', retired_at = now() where projection = $1 and status = 'live'`,
    [next.projection],
  );
  await client.query(
    `update ${table} set status = 'live', switched_at = now(), epoch = $3 where projection = $1 and generation = $2`,
    [next.projection, next.generation, live?.epoch ?? 0],
  );
  await client.query({ ...notification(network, next, applier.position()) });
  checkCommitted(await client.query('commit'));
}

type Missing = Readonly<{ source: Source; stream: Generation['stream']; to: number; signal: AbortSignal }>;

async function catchUp(
  client: pg.ClientBase,
  applier: Applier,
  { source, stream, to, signal }: Missing,
): Promise<void> {
  if (applier.position() >= to) return;
  for await (const { facts } of source.follow(stream, applier.position(), { maxFacts, signal })) {
    if (!(await applier.applyWithin(client, facts))) throw replaced(stream);
    if (applier.position() >= to) return;
  }
  throw ended(signal);
}

/** Nobody else writes an unfinished generation, so a refusal means that its row is gone or changed by hand. */
function replaced(stream: string): AppError {
  return new AppError(
    'UNAVAILABLE',
    `What was being built from ${stream} is no longer what it was begun from; it has to begin again`,
  );
}

function ended(signal: AbortSignal): AppError {
  return new AppError('UNAVAILABLE', 'The rebuild was ended before it was done; readers go on with what they have', {
    cause: signal.reason,
  });
}
