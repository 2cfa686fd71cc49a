import type pg from 'pg';
import { AppError } from '../../commands/errors.ts';
import type { AnyProjection } from '../../projections/all.ts';
import { type Applier, checkCommitted, createApplier, notification } from './apply.ts';
import { type Folding, foldingOf } from './folding.ts';
import { analyzeTables, createGeneration, createIndexes, dropUnfinished } from './generation-tables.ts';
import { type Generation, liveGeneration } from './generations.ts';
import { createLoad, type Load, type LoadOptions, replaced } from './load.ts';
import { metaSchema } from './names.ts';
import { type Pools, withClient } from './pool.ts';

/** What a rebuild needs, and who wants to hear of it. */
export type RebuildOptions = Omit<LoadOptions, 'stream'> &
  Readonly<{ pools: Pools; projection: AnyProjection; network: string }>;

/** What a rebuild ended with: the generation that is live now. */
export type Rebuilt = Readonly<{ generation: number; position: number; facts: number }>;

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
    try {
      return await build(client, folding, options);
    } finally {
      // Also after a failure, because the server may take a while to see that the connection is closed.
      await client.query('rollback; select pg_advisory_unlock_all()').catch(() => undefined);
    }
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
  const { source, network, signal, onProgress } = options;
  await dropUnfinished(client, network, folding.name);
  const head = await source.head(folding.stream);
  const generation = await createGeneration(client, folding, { network, incarnation: head.incarnation });
  const applier = createApplier(folding, generation, network);
  const load = createLoad(client, applier, { source, stream: folding.stream, signal, onProgress });
  await client.query('set synchronous_commit = off');
  await load.upTo(head);
  await createIndexes(client, folding, generation.schema);
  // A table that was never looked at counts as small, one that was found empty as empty for ever.
  if (load.done() > 0) await analyzeTables(client, folding, { schema: generation.schema, how: 'vacuum (analyze)' });
  await load.nearlyToTheEnd();
  await client.query('reset synchronous_commit');
  await switchOver(client, { next: generation, applier, load }, options);
  return { generation: generation.generation, position: applier.position(), facts: load.done() };
}

type Built = Readonly<{ next: Generation; applier: Applier; load: Load }>;

/** Makes a generation the live one, in one transaction that applies what the live one has and it has not. */
async function switchOver(
  client: pg.ClientBase,
  { next, applier, load }: Built,
  options: RebuildOptions,
): Promise<void> {
  const { source, network } = options;
  const table = `${metaSchema(network)}.generations`;
  await client.query('begin');
  const live = await liveGeneration(client, { network, projection: next.projection, lock: true });
  const { incarnation, lastSequence } = await source.head(next.stream);
  if (incarnation !== next.incarnation) throw replaced(next.stream);
  if (live?.incarnation === incarnation && live.position <= lastSequence)
    await load.withinTransaction(live.position, AbortSignal.timeout(switchWithinMs));
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
