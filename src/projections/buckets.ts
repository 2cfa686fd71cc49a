import { type RawBuilder, sql } from 'kysely';
import type { Reading } from './reading.ts';
import type { ActionRow } from './tables.ts';

const heightsPerBucket = 16_384;

/** Actions of whole buckets: pairs of type, status and expiry with how many there are. */
export type BucketCell = Readonly<{ type: string; status: string; expired: boolean; n: number }>;

/** A window as whole buckets, from one up to but without another, and as edges, both ends included, to be counted row by row. */
type Split<Edge> = Readonly<{ buckets: Buckets; edges: readonly Edge[] }>;
type Buckets = readonly [from: string, until: string];

const noBuckets: Buckets = ['', ''];
/** Sorts behind every bucket, and behind all cells of one. */
const behind = '~';

/**
 * Counters by which windows are counted: one per bucket of register heights, one per day of creation.
 *
 * Their names begin with a bucket of fixed width, so that buckets that follow one another lie together.
 *
 * @example ['height:000000,type:sense,status:approved', 'day:2026-01-31,type:sense,status:approved']
 */
export function bucketNames({ height, created_at, type, status, chain_state }: ActionRow): string[] {
  const cell = `type:${type},status:${status}${chain_state === 'expired' ? ',expired' : ''}`;
  const byHeight = height === null ? [] : [`${heightBucket(Math.floor(height / heightsPerBucket))},${cell}`];
  return [...byHeight, ...(created_at === null ? [] : [`${dayBucket(created_at)},${cell}`])];
}

/** Splits a range of register heights, both ends included. */
export function splitHeights(
  fromHeight?: number,
  toHeight?: number,
): Split<Readonly<{ fromHeight?: number; toHeight?: number }>> {
  const first = Math.ceil((fromHeight ?? 0) / heightsPerBucket);
  const end = toHeight === undefined ? Infinity : Math.floor((toHeight + 1) / heightsPerBucket);
  if (first >= end) return { buckets: noBuckets, edges: [{ fromHeight, toHeight }] };
  const before = fromHeight === undefined ? [] : [{ fromHeight, toHeight: first * heightsPerBucket - 1 }];
  const after = toHeight === undefined ? [] : [{ fromHeight: end * heightsPerBucket, toHeight }];
  const until = end === Infinity ? `height:${behind}` : heightBucket(end);
  return { buckets: [heightBucket(first), until], edges: [...before, ...after] };
}

/** Splits a window of creation, both ends included; the days of its ends are edges. Times are written as `created_at` is. */
export function splitTimes(from?: string, to?: string): Split<Readonly<{ from?: string; to?: string }>> {
  if (from !== undefined && to !== undefined && dayOf(from) >= dayOf(to))
    return { buckets: noBuckets, edges: [{ from, to }] };
  const before = from === undefined ? [] : [{ from, to: `${dayOf(from)}T${behind}` }];
  const after = to === undefined ? [] : [{ from: `${dayOf(to)}T`, to }];
  const first = from === undefined ? 'day:' : `${dayBucket(from)}${behind}`;
  return { buckets: [first, to === undefined ? `day:${behind}` : dayBucket(to)], edges: [...before, ...after] };
}

/** Rows `type, status, expired, n` of the counters from one bucket on, up to but without another. */
export function cellsBetween({ schemas }: Reading, [from, until]: Buckets): RawBuilder<BucketCell> {
  return sql`
    select split_part(split_part(name, ',', 2), ':', 2) as type, split_part(split_part(name, ',', 3), ':', 2) as status,
      split_part(name, ',', 4) = 'expired' as expired, n
    from ${sql.id(schemas.actions, 'counters')} where name >= ${from} and name < ${until}`;
}

const dayOf = (time: string) => time.slice(0, 10);

const dayBucket = (time: string) => `day:${dayOf(time)}`;

const heightBucket = (bucket: number) => `height:${String(bucket).padStart(6, '0')}`;
