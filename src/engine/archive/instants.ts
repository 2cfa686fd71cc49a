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
  /**
   * When an event was stored, or the last one before it where it is not kept; undefined before the first one. Where the
   * stream's incarnation is named, the time of an event that is there is kept in memory for a while.
   */
  storedAt: (stream: StreamName, sequence: number, incarnation?: string) => Promise<bigint | undefined>;
  /**
   * The last sequence at or before the time that `storedAt` gives for an event of another stream, in one go. Where that
   * stream's incarnation is named, what is found is kept in memory for a while, the time of the event as well.
   */
  positionWhen: (stream: StreamName, event: EventPosition) => Promise<number>;
}>;

type EventPosition = Readonly<{ stream: StreamName; sequence: number; incarnation?: string | undefined }>;

type InstantsOptions = Readonly<{
  pools: Pools;
  network: string;
  /** Reads the end of a stream from the broker. */
  head: (stream: StreamName) => Promise<Pick<Head, 'lastSequence'>>;
}>;

const nanosPerMs = 1_000_000n;
const archivedWithinMs = 2000;
const checkEachMs = 25;

/**
 * Reads times from the archive, whose times outlive a restored stream.
 *
 * An event that was stored by a time may be archived a moment later, so a time after the last archived event waits
 * until all is archived that the broker has.
 */
export function createInstants({ pools, network, head }: InstantsOptions): Instants {
  const query = async <Row extends object>(
    statement: NamedStatement,
    values: readonly unknown[],
  ): Promise<Row | undefined> =>
    await withClient(pools.read, async (client) => (await client.query<Row>(statement, [...values])).rows[0]);
  const { search, searchWhen, stored } = statementsOf(network);
  const [times, positions]: [Recent<bigint>, Recent<number>] = [new Map(), new Map()];
  const ends: Ends = new Map();
  const storedAt: Instants['storedAt'] = async (stream, sequence, incarnation) => {
    if (sequence === 0) return undefined;
    const key = incarnation && keyOf({ stream, sequence, incarnation });
    const known = recalled(times, key);
    if (known !== undefined) return known;
    const deadline = performance.now() + archivedWithinMs;
    for (;;) {
      const row = await query<Stored>(stored, [stream, sequence]);
      const nanos = typeof row?.nanos === 'string' ? BigInt(row.nanos) : undefined;
      if (row?.isThere === true) keep(times, key, nanos);
      if (row?.isThere === true || row?.isBeforeLast === true) return nanos;
      if (performance.now() > deadline) throw behind(stream);
      await wait(checkEachMs);
    }
  };
  const positionOf = (stream: StreamName, run: RunSearch): Promise<number | undefined> =>
    positionSearched(stream, run, (nanos) => endAfter(ends, { stream, nanos, head }));
  const positionAt: Instants['positionAt'] = async (stream, nanos) => {
    // No event is older, and the archive's column of nanoseconds ends in 1677.
    const least = String(nanos < 0n ? 0n : nanos);
    return (await positionOf(stream, () => query<Match>(search, [stream, least]))) ?? 0;
  };
  return {
    storedAt,
    positionAt,
    positionWhen: async (stream, event) => {
      const key = event.incarnation && keyOf(event);
      const known = recalled(positions, key && `${stream} ${key}`);
      if (known !== undefined) return known;
      const position = await positionOf(stream, async () => {
        const match = await query<Match>(searchWhen, [stream, event.stream, event.sequence]);
        if (typeof match?.nanos === 'string') keep(times, key, BigInt(match.nanos));
        if (match?.isBeforeLast === true) keep(positions, key && `${stream} ${key}`, Number(match.position));
        return match;
      });
      if (position !== undefined) return position;
      const nanos = await storedAt(event.stream, event.sequence);
      return nanos === undefined ? 0 : await positionAt(stream, nanos);
    },
  };
}

type RunSearch = () => Promise<Match | undefined>;

/** The position that a search found; where it ended with the archive, as soon as that has all up to the time. */
async function positionSearched(
  stream: StreamName,
  run: RunSearch,
  endAt: (nanos: bigint) => Promise<number>,
): Promise<number | undefined> {
  const deadline = performance.now() + archivedWithinMs;
  let needed: number | undefined;
  for (;;) {
    const { nanos, last, position, isBeforeLast } = (await run()) ?? nothing;
    if (nanos === null) return undefined;
    if (isBeforeLast === true) return Number(position);
    needed ??= await endAt(BigInt(nanos));
    if (Number(last) >= needed) return Number(last);
    if (performance.now() > deadline) throw behind(stream);
    await wait(checkEachMs);
  }
}

const behind = (stream: StreamName): AppError =>
  new AppError('UNAVAILABLE', `The archive has not followed ${stream} up to this instant yet; try again soon`);

/** What was found last, by key. */
type Recent<T> = Map<string, Readonly<{ value: T; until: number }>>;

/** A repair may correct a time that was damaged. */
const keptForMs = 60_000;
const mostKept = 1000;

const keyOf = ({ stream, sequence, incarnation }: EventPosition): string =>
  JSON.stringify([incarnation, stream, sequence]);

function recalled<T>(recent: Recent<T>, key: string | undefined): T | undefined {
  const known = key === undefined ? undefined : recent.get(key);
  return known && known.until > performance.now() ? known.value : undefined;
}

function keep<T>(recent: Recent<T>, key: string | undefined, value: T | undefined): void {
  if (key === undefined || value === undefined) return;
  recent.delete(key);
  recent.set(key, { value, until: performance.now() + keptForMs });
  for (const first of recent.keys()) {
    if (recent.size <= mostKept) return;
    recent.delete(first);
  }
}

/** Where streams ended when the broker was last asked. */
type Ends = Map<StreamName, Readonly<{ last: number; beforeMs: number }>>;

/** The log's clock and ours may differ. */
const clocksDifferMs = 60_000;

/** A sequence at or behind the last event that was stored by a time; the broker is asked where the time is not past. */
async function endAfter(
  ends: Ends,
  { stream, nanos, head }: Readonly<{ stream: StreamName; nanos: bigint }> & Pick<InstantsOptions, 'head'>,
): Promise<number> {
  const known = ends.get(stream);
  if (known && Number(nanos / nanosPerMs) < known.beforeMs) return known.last;
  const beforeMs = Date.now() - clocksDifferMs;
  const { lastSequence: last } = await head(stream);
  ends.set(stream, { last, beforeMs });
  return last;
}

type Stored = Readonly<{ nanos: string | null; isThere: boolean | null; isBeforeLast: boolean | null }>;

type Match = Readonly<{
  nanos: string | null;
  last: string | null;
  position: string | null;
  isBeforeLast: boolean | null;
}>;
const nothing: Match = { nanos: null, last: null, position: null, isBeforeLast: null };

type NamedStatement = Readonly<{ name: string; text: string }>;

/** Named, so that each connection plans them once. */
function statementsOf(network: string): Readonly<Record<'search' | 'searchWhen' | 'stored', NamedStatement>> {
  const archive = `${metaSchema(network)}.archive`;
  const eventTime = `(select stored_nanos from ${archive} where stream = $2 and sequence = $3)`;
  return {
    search: { name: `position at ${network}`, text: searchIn(archive, '$2::int8') },
    searchWhen: { name: `position when ${network}`, text: searchIn(archive, eventTime) },
    stored: {
      name: `stored at ${network}`,
      text: `select before.stored_nanos::text as nanos, before.sequence = $2 as "isThere",
        exists (select from ${archive} where stream = $1 and sequence > $2) as "isBeforeLast"
      from (select) as one left join lateral (
        select sequence, stored_nanos from ${archive} where stream = $1 and sequence <= $2 order by sequence desc limit 1
      ) before on true`,
    },
  };
}

/**
 * A binary search for a time by the primary key, in one statement: below `low` all events are stored at or before it,
 * above `high` none; gaps count to the event after them.
 */
const searchIn = (archive: string, nanos: string): string => `
  with recursive wanted as materialized (select ${nanos} as nanos), ends as (
    select (select sequence from ${archive} where stream = $1 order by sequence limit 1) as first,
      (select sequence from ${archive} where stream = $1 order by sequence desc limit 1) as last
  ), search (low, high) as (
    select first, last from ends
    union all
    select case when event.stored_nanos <= (select nanos from wanted) then event.sequence + 1 else low end,
      case when event.stored_nanos <= (select nanos from wanted) then high else (low + high) / 2 - 1 end
    from search cross join lateral (
      select sequence, stored_nanos from ${archive}
      where stream = $1 and sequence >= (low + high) / 2 order by sequence limit 1
    ) event
    where low <= high
  )
  select (select nanos from wanted)::text as nanos, ends.last::text, (select max(low) - 1 from search)::text as position,
    (select max(low) - 1 from search) < ends.last as "isBeforeLast" from ends`;
