import type pg from 'pg';
import { AppError } from '../../../commands/errors.ts';
import { checkCommitted, createApplier, notification } from '../engine/apply.ts';
import type { Folding } from '../engine/folding.ts';
import { type Generation, liveGeneration, replaced } from '../engine/generations.ts';
import { type Count, createLoad } from './load.ts';
import { metaSchema } from '../engine/names.ts';
import type { Source } from '../engine/source.ts';

/** A generation that readers do not see yet, or not any more; `count` hears of the facts that it lacked. */
export type Next = Readonly<{ folding: Folding; next: Generation; count: Count }>;

/** Where it is switched, and what it is brought up to. */
export type Place = Readonly<{ source: Source; network: string; signal: AbortSignal }>;

/** Writers and readers of the live generation wait no longer than this for a switch. */
const switchWithinMs = 10_000;

/**
 * Brings a generation up to the log and makes it the live one; gives back the position that readers see then.
 *
 * The switch is one transaction that applies what the live one has and this one has not, so no position goes back,
 * unless the log was replaced. The one that was live stays as the previous one.
 */
export async function switchTo(
  client: pg.ClientBase,
  { folding, next, count }: Next,
  { source, network, signal }: Place,
): Promise<number> {
  const applier = createApplier(folding, next, network);
  const load = createLoad(client, applier, { source, stream: next.stream, signal, count });
  await load.nearlyToTheEnd();
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
    `update ${table} set status = 'live', switched_at = now(), retired_at = null, epoch = $3
      where projection = $1 and generation = $2`,
    [next.projection, next.generation, live?.epoch ?? 0],
  );
  await client.query({ ...notification(network, next, applier.position()) });
  checkCommitted(await client.query('commit'));
  return applier.position();
}

/** Has the building, switching and dropping of a projection's generations to itself while `run` goes on. */
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
