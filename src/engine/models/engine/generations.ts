import type pg from 'pg';
import { AppError } from '../../../kit/errors.ts';
import type { StreamName } from '../../../events/streams.ts';
import type { ProjectionName } from '../../../projections/projection.ts';

/** One generation of a projection: which tables, made by which version, how far they followed which log. */
export type Generation = Readonly<{
  projection: ProjectionName;
  generation: number;
  version: number;
  fingerprint: string;
  schema: string;
  status: 'building' | 'live' | 'retired';
  stream: StreamName;
  /** RFC 3339: when the stream was created; another one is another log. */
  incarnation: string;
  /** Sequence of the last fact applied; 0 before the first. */
  position: number;
  /** How many leaders there have been; only the last one may write. */
  epoch: number;
  /** RFC 3339, UTC; null while it runs. */
  stoppedAt: string | null;
  stoppedReason: string | null;
  /** RFC 3339, UTC; since when an operator pauses it; null while none does. */
  pausedAt: string | null;
}>;

const instant = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** The columns of a `Generation`, for a select list. */
export const generationColumns = `projection, generation, version, fingerprint, schema_name as schema, status, stream,
  incarnation, position, epoch, ${instant('stopped_at')} as "stoppedAt", stopped_reason as "stoppedReason",
  ${instant('paused_at')} as "pausedAt"`;

const listWithinMs = 10_000;

/** All generations that are not retired, by projection. */
export async function listGenerations(client: pg.ClientBase | pg.Pool, network: string): Promise<Generation[]> {
  const request = {
    text: `select ${generationColumns} from ${metaSchema(network)}.generations where status <> 'retired'
      order by projection, generation`,
    query_timeout: listWithinMs,
  };
  const { rows } = await client.query<Generation>(request);
  return rows;
}

/** The generation that readers see, if there is one; `lock` keeps it as it is until the transaction ends. */
export async function liveGeneration(
  client: pg.ClientBase | pg.Pool,
  { network, projection, lock = false }: { network: string; projection: string; lock?: boolean },
): Promise<Generation | undefined> {
  const { rows } = await client.query<Generation>(
    `select ${generationColumns} from ${metaSchema(network)}.generations
      where projection = $1 and status = 'live' ${lock ? 'for update' : ''}`,
    [projection],
  );
  return rows[0];
}

/** A generation that readers were switched away from, and how long ago. */
type Retired = Generation & Readonly<{ retiredForMs: number }>;

/** The generation that was live before the live one, if it was not dropped. */
export async function previousGeneration(
  client: pg.ClientBase | pg.Pool,
  { network, projection }: { network: string; projection: string },
): Promise<Retired | undefined> {
  const { rows } = await client.query<Retired>(
    `select ${generationColumns}, (extract(epoch from now() - retired_at) * 1000)::float8 as "retiredForMs"
      from ${metaSchema(network)}.generations where projection = $1 and status = 'retired'
      order by retired_at desc, generation desc limit 1`,
    [projection],
  );
  return rows[0];
}

/** The same; fails with `NOT_FOUND` when there is none. */
export async function existingPrevious(
  client: pg.ClientBase,
  { network, projection }: { network: string; projection: string },
): Promise<Retired> {
  const previous = await previousGeneration(client, { network, projection });
  if (previous) return previous;
  throw new AppError(
    'NOT_FOUND',
    `Projection ${projection} has no previous generation: it was dropped, or none was ever switched away from`,
  );
}

/** Records how far the tables of an unfinished generation were filled, and returns it as it is now. */
export async function recordFilled(
  client: pg.ClientBase,
  network: string,
  { generation, position }: { generation: Generation; position: number },
): Promise<Generation> {
  const { rows } = await client.query<Generation>(
    `update ${metaSchema(network)}.generations set position = $3, stopped_at = null, stopped_reason = null
      where projection = $1 and generation = $2 and status = 'building' and position = $4
      returning ${generationColumns}`,
    [generation.projection, generation.generation, position, generation.position],
  );
  const [filled] = rows;
  if (!filled) throw replaced(generation.stream);
  return filled;
}

/** No other process writes an unfinished generation, so a refusal means that its row is gone, or changed by hand. */
export function replaced(stream: string): AppError {
  return new AppError(
    'UNAVAILABLE',
    `What was being built from ${stream} is no longer what it was begun from; it has to begin again`,
  );
}

/** The next epoch of a projection's live generation: every earlier one is refused from now on. */
export async function raiseEpoch(
  client: pg.ClientBase,
  network: string,
  projection: string,
): Promise<number | undefined> {
  const { rows } = await client.query<{ epoch: number }>(
    `update ${metaSchema(network)}.generations set epoch = epoch + 1 where projection = $1 and status = 'live'
      returning epoch`,
    [projection],
  );
  return rows[0]?.epoch;
}

/**
 * Records why a projection stopped: on its live generation, or on the one being built while there is none.
 *
 * A live generation accepts it only from its leader. Returns whether a generation accepted it.
 */
export async function recordStop(
  pool: pg.Pool,
  { network, projection, epoch, reason }: { network: string; projection: string; epoch: number; reason: string },
): Promise<boolean> {
  const table = `${metaSchema(network)}.generations`;
  const { rowCount } = await pool.query(
    `update ${table} as one set stopped_at = now(), stopped_reason = $3
      where projection = $1 and (status = 'building' or epoch = $2) and generation =
        (select generation from ${table} where projection = $1 and status <> 'retired'
          order by status = 'live' desc, generation desc limit 1)`,
    [projection, epoch, reason],
  );
  return rowCount === 1;
}

/** Takes back the record of a stop whose reason is gone. */
export async function clearStop(
  pool: pg.Pool,
  network: string,
  { projection, generation, epoch }: Generation,
): Promise<void> {
  await pool.query(
    `update ${metaSchema(network)}.generations set stopped_at = null, stopped_reason = null
      where projection = $1 and generation = $2 and epoch = $3 and stopped_at is not null`,
    [projection, generation, epoch],
  );
}

/** Schema of a network's own bookkeeping: its migrations and its generations. */
export function metaSchema(network: string): string {
  return `annals_${network}`;
}

/** Schema that holds the tables of one generation of a projection. */
export function generationSchema(network: string, projection: string, generation: number): string {
  return `annals_${network}_${projection}_g${generation}`;
}

/** The one channel on which a network's live generations announce that they advanced. */
export function channelOf(network: string): string {
  return `annals_${network}`;
}
