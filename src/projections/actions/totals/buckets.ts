import { type RawBuilder, sql } from 'kysely';
import type { Reading } from '../../reading.ts';
import { remembered } from './memoize.ts';
import type { ActionRow } from '../../tables.ts';
import { countersBetween, type Names } from './block-counters.ts';

/** Actions of whole buckets: pairs of type, status and expiry with how many there are. */
export type BucketCell = Readonly<{ type: string; status: string; expired: boolean; n: number }>;

/** A window as whole buckets, and as edges, both ends included, to be counted row by row. */
export type Split = Readonly<{ buckets: readonly Names[]; edges: readonly Readonly<{ from?: string; to?: string }>[] }>;

/** Sorts behind every bucket, and behind all cells of one. */
const behind = '~';

/**
 * Counters by which windows are counted: one for the day and one for the month of creation.
 *
 * @example ['day:2026-01-31,type:sense,status:approved', 'month:2026-01,type:sense,status:approved']
 */
export function bucketNames({ created_at, type, status, chain_state }: ActionRow): readonly string[] {
  if (created_at === null) return [];
  return namesOn((chain_state === 'expired' ? expiredCell : cell)(type, status), dayOf(created_at));
}

const cell = remembered((type: string, status: string) => `type:${type},status:${status}`);
const expiredCell = remembered((type: string, status: string) => `${cell(type, status)},expired`);
const namesOn = remembered((within: string, day: string): readonly string[] => [
  `day:${day},${within}`,
  `month:${monthOf(day)},${within}`,
]);

/** Splits a window of creation, both ends included; the days of its ends are edges. Times are written as `created_at` is. */
export function splitTimes(from?: string, to?: string): Split {
  if (from !== undefined && to !== undefined && dayOf(from) >= dayOf(to)) return { buckets: [], edges: [{ from, to }] };
  const before = from === undefined ? [] : [{ from, to: `${dayOf(from)}T${behind}` }];
  const after = to === undefined ? [] : [{ from: `${dayOf(to)}T`, to }];
  return { buckets: bucketsWithin(from, to), edges: [...before, ...after] };
}

/** The days after that of `from` and the months after its month, and likewise before `to`. */
function bucketsWithin(from?: string, to?: string): Names[] {
  const afterFrom = from === undefined ? undefined : `day:${dayOf(from)}${behind}`;
  const beforeTo = to === undefined ? undefined : `day:${dayOf(to)}`;
  if (from !== undefined && to !== undefined && monthOf(from) === monthOf(to))
    return [{ from: `day:${dayOf(from)}${behind}`, until: `day:${dayOf(to)}` }];
  return [
    ...(from === undefined || afterFrom === undefined
      ? []
      : [{ from: afterFrom, until: `day:${monthOf(from)}${behind}` }]),
    {
      from: from === undefined ? 'month:' : `month:${monthOf(from)}${behind}`,
      until: to === undefined ? `month:${behind}` : `month:${monthOf(to)}`,
    },
    ...(to === undefined || beforeTo === undefined ? [] : [{ from: `day:${monthOf(to)}`, until: beforeTo }]),
  ];
}

/** Rows `type, status, expired, n` of the counters of the buckets whose names a slot holds. */
export function cellsOf(reading: Reading, buckets: string): RawBuilder<BucketCell> {
  return sql`
    select split_part(split_part(name, ',', 2), ':', 2) as type, split_part(split_part(name, ',', 3), ':', 2) as status,
      split_part(name, ',', 4) = 'expired' as expired, n
    from ${countersBetween(reading, buckets)}`;
}

const dayOf = (time: string) => time.slice(0, 10);

const monthOf = (time: string) => time.slice(0, 7);
