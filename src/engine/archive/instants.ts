import { AppError } from '../../kit/errors.ts';
import { wait } from '../../kit/wait.ts';
import type { StreamName } from '../../events/streams.ts';
import type { Head } from '../log/head.ts';
import { metaSchema } from '../models/engine/generations.ts';
import { type Pools, withClient } from '../models/pool.ts';

/** Which position a stream had at which time: the times are those at which the broker stored the events. */
export type Instants = Readonly<{
  /** The last sequence at or before a time, 0 before the first event; `UNAVAILABLE` while the archive is behind. */
  positionAt: (stream: StreamName, nanos: bigint) => Promise<number>;
  /** When an event was stored, or the last one before it where it is not kept; undefined before the first one. */
  storedAt: (stream: StreamName, sequence: number) => Promise<bigint | undefined>;
}>;

type InstantsOptions = Readonly<{
  pools: Pools;
  network: string;
  /** Reads the end of a stream from the broker. */
  head: (stream: StreamName) => Promise<Pick<Head, 'lastSequence'>>;
}>;

const archivedWithinMs = 2000;
const checkEachMs = 25;

/**
 * Reads times from the archive, whose times outlive a restored stream.
 *
 * An event that was stored by a time may be archived a moment later, so a time after the last archived event waits
 * until all is archived that the broker has.
 */
export function createInstants({ pools, network, head }: InstantsOptions): Instants {
  const archive = `${metaSchema(network)}.archive`;
  /** Named, so that each connection plans it once. */
  const query = async <Row extends object>(
    statement: Readonly<{ name: string; text: string }>,
    values: readonly unknown[],
  ): Promise<Row | undefined> =>
    await withClient(pools.read, async (client) => (await client.query<Row>(statement, [...values])).rows[0]);
  const search = { name: `position at ${network}`, text: searchIn(archive) };
  const stored = {
    name: `stored at ${network}`,
    text: `select before.stored_nanos::text as nanos, before.sequence = $2 as "isThere",
      exists (select from ${archive} where stream = $1 and sequence > $2) as "isBeforeLast"
    from (select) as one left join lateral (
      select sequence, stored_nanos from ${archive} where stream = $1 and sequence <= $2 order by sequence desc limit 1
    ) before on true`,
  };
  return {
    positionAt: async (stream, nanos) => {
      // No event is older, and the archive's column of nanoseconds ends in 1677.
      const least = nanos < 0n ? 0n : nanos;
      const deadline = performance.now() + archivedWithinMs;
      let needed: number | undefined;
      for (;;) {
        const match = await query<Match>(search, [stream, String(least)]);
        const { last = 0, position = 0, isBeforeLast = false } = match ?? {};
        if (isBeforeLast) return Number(position);
        needed ??= (await head(stream)).lastSequence;
        if (Number(last) >= needed) return Number(last);
        if (performance.now() > deadline) throw behind(stream);
        await wait(checkEachMs);
      }
    },
    storedAt: async (stream, sequence) => {
      if (sequence === 0) return undefined;
      const deadline = performance.now() + archivedWithinMs;
      for (;;) {
        const row = await query<Stored>(stored, [stream, sequence]);
        if (row?.isThere === true || row?.isBeforeLast === true)
          return row.nanos === null ? undefined : BigInt(row.nanos);
        if (performance.now() > deadline) throw behind(stream);
        await wait(checkEachMs);
      }
    },
  };
}

const behind = (stream: StreamName): AppError =>
  new AppError('UNAVAILABLE', `The archive has not followed ${stream} up to this instant yet; try again soon`);

type Stored = Readonly<{ nanos: string | null; isThere: boolean | null; isBeforeLast: boolean | null }>;

type Match = Readonly<{ last: string | null; position: string | null; isBeforeLast: boolean | null }>;

/**
 * A binary search by the primary key, in one statement: below `low` all events are stored at or before the time, above
 * `high` none; gaps count to the event after them.
 */
const searchIn = (archive: string): string => `
  with recursive ends as (
    select (select sequence from ${archive} where stream = $1 order by sequence limit 1) as first,
      (select sequence from ${archive} where stream = $1 order by sequence desc limit 1) as last
  ), search (low, high) as (
    select first, last from ends
    union all
    select case when event.stored_nanos <= $2 then event.sequence + 1 else low end,
      case when event.stored_nanos <= $2 then high else (low + high) / 2 - 1 end
    from search cross join lateral (
      select sequence, stored_nanos from ${archive}
      where stream = $1 and sequence >= (low + high) / 2 order by sequence limit 1
    ) event
    where low <= high
  )
  select ends.last::text, (select max(low) - 1 from search)::text as position,
    (select max(low) - 1 from search) < ends.last as "isBeforeLast" from ends`;
