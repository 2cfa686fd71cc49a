import type pg from 'pg';
import { wait } from '../../../kit/wait.ts';
import { AppError } from '../../../kit/errors.ts';
import type { AnyProjection } from '../../../projections/all.ts';
import type { ProjectionName } from '../../../projections/projection.ts';
import { checkCommitted, createApplier, notification } from '../engine/apply.ts';
import { fingerprintOf } from '../engine/fingerprint.ts';
import { type Folding, foldingOf } from '../engine/folding.ts';
import { dropRetired, readableForMs } from '../engine/generation-tables.ts';
import { existingPrevious, type Generation, liveGeneration, metaSchema, replaced } from '../engine/generations.ts';
import type { FactSource } from '../engine/source.ts';
import { type Pools, withClient } from '../pool.ts';
import { type CountFacts, createCount, createLoad } from './load.ts';

/**
 * A generation that readers do not see yet, or not any more; `count` is called with the number of facts that it lacked.
 */
type Next = Readonly<{ folding: Folding; next: Generation; count: CountFacts }>;

/** Where it is switched, and what it is brought up to. */
export type SwitchTarget = Readonly<{ source: FactSource; network: string; signal: AbortSignal }>;

/** Writers and readers of the live generation wait no longer than this for a switch. */
const switchWithinMs = 10_000;

/**
 * Brings a generation up to the log and makes it the live one; returns the position that readers see then.
 *
 * The switch is one transaction that applies what the live one has and this one has not, so no position goes back,
 * unless the log was replaced: fails with `UNAVAILABLE` where the log ends before it. The one that was live stays as
 * the previous one.
 */
export async function switchTo(
  client: pg.ClientBase,
  { folding, next, count }: Next,
  { source, network, signal }: SwitchTarget,
): Promise<number> {
  const applier = createApplier(folding, next, network);
  const load = createLoad(client, applier, { source, stream: next.stream, signal, count });
  await load.nearlyToTheEnd();
  const table = `${metaSchema(network)}.generations`;
  await client.query('begin');
  const live = await liveGeneration(client, { network, projection: next.projection, lock: true });
  const { incarnation, lastSequence } = await source.head(next.stream);
  if (incarnation !== next.incarnation) throw replaced(next.stream);
  if (live?.incarnation === incarnation) {
    if (live.position > lastSequence) throw isShort(live, lastSequence);
    await load.withinTransaction(live.position, AbortSignal.timeout(switchWithinMs));
  }
  await client.query(
    `update ${table} set status = 'retired', retired_at = now() where projection = $1 and status = 'live'`,
    [next.projection],
  );
  await client.query(
    `update ${table} set status = 'live', switched_at = now(), retired_at = null, epoch = $3,
      paused_at = $4 where projection = $1 and generation = $2`,
    [next.projection, next.generation, live?.epoch ?? 0, live?.pausedAt ?? null],
  );
  await client.query({ ...notification(network, next, applier.position()) });
  checkCommitted(await client.query('commit'));
  return applier.position();
}

function isShort({ projection, stream, position }: Generation, end: number): AppError {
  return new AppError(
    'UNAVAILABLE',
    `${stream} ends at ${end}, and ${projection} shows it to ${position}: its end comes back first (annals repair)`,
  );
}

/** Holds an exclusive lock on the building, switching and dropping of a projection's generations while `run` runs. */
export async function withBuildLock<T>(
  client: pg.ClientBase,
  { network, projection }: { network: string; projection: string },
  run: () => Promise<T>,
): Promise<T> {
  // The lock belongs to the connection: it ends with the process, however that ends.
  const { rows } = await client.query<{ ours: boolean }>(
    'select pg_try_advisory_lock(hashtextextended($1, 2)) as ours',
    [`${metaSchema(network)} ${projection}`],
  );
  if (!rows[0]?.ours)
    throw new AppError('CONFLICT', `Projection ${projection} is being rebuilt already; wait for that to end`);
  try {
    return await run();
  } finally {
    // Also after a failure, because the server may take a while to see that the connection is closed.
    await client.query('rollback; select pg_advisory_unlock_all()').catch(() => undefined);
  }
}

/** Options of a switch back. */
type SwitchBackOptions = Readonly<{
  pools: Pools;
  source: FactSource;
  projection: AnyProjection;
  network: string;
  signal: AbortSignal;
}>;

/** The result of a switch back: the generation that is live again, and how many facts it had missed. */
type SwitchedBack = Readonly<{ generation: number; position: number; facts: number }>;

/**
 * Makes the generation live again that was live before the last switch, brought up to the log first; the other one
 * becomes the previous one.
 *
 * Readers see no error, and no position goes back. Fails with `NOT_FOUND` when there is none, and with `CONFLICT` when
 * other handlers made it than this program has, for only they can bring it forward, when the log is another one, or
 * while the projection is being rebuilt.
 *
 * @example await switchBack({ pools, source: log, projection: actions, network: 'local', signal })
 */
export async function switchBack(options: SwitchBackOptions): Promise<SwitchedBack> {
  const { pools, projection, network } = options;
  const folding = foldingOf(projection);
  return withClient(pools.bulk, (client) =>
    withBuildLock(client, { network, projection: folding.name }, async () => {
      const previous = await existingPrevious(client, { network, projection: folding.name });
      await checkFit(folding, previous, options.source);
      const count = createCount(0, undefined);
      const position = await switchTo(client, { folding, next: previous, count }, options);
      return { generation: previous.generation, position, facts: count(0) };
    }),
  );
}

async function checkFit(folding: Folding, previous: Generation, source: FactSource): Promise<void> {
  const { projection, generation, version, stream, incarnation } = previous;
  const what = `Generation ${generation} of ${projection}`;
  if (version !== folding.version || previous.fingerprint !== fingerprintOf(folding))
    throw new AppError(
      'CONFLICT',
      `${what} was made by version ${version} of the projection, and only that can bring it up to the log; this program ` +
        `has version ${folding.version}: run the verb with the program that made it`,
    );
  const head = await source.head(stream);
  if (head.incarnation !== incarnation)
    throw new AppError(
      'CONFLICT',
      `${what} follows the ${stream} of ${incarnation}; the log was created anew at ${head.incarnation}`,
    );
}

/**
 * Drops the generation that was live before the last switch; returns its number.
 *
 * Waits until no reader can see it any more, a minute after the switch. Fails with `NOT_FOUND` when there is none.
 */
export async function dropPrevious(
  { pools, network, signal }: Readonly<{ pools: Pools; network: string; signal: AbortSignal }>,
  projection: ProjectionName,
): Promise<{ generation: number }> {
  return withClient(pools.bulk, (client) =>
    withBuildLock(client, { network, projection }, async () => {
      const { generation, retiredForMs } = await existingPrevious(client, { network, projection });
      await wait(Math.max(0, readableForMs - retiredForMs), signal);
      signal?.throwIfAborted();
      await dropRetired(client, network, { projection, keepPrevious: false });
      return { generation };
    }),
  );
}
