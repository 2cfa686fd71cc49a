import { type RawBuilder, sql } from 'kysely';
import { kindOf } from '../kinds.ts';
import type { Count, Counters } from '../../projection.ts';
import type { Reading } from '../../reading.ts';
import { type Input, slot } from '../../statement.ts';
import type { ActionRow } from '../../tables.ts';

/**
 * How many actions of a kind, expired or not, were created in a day (`2026-01-31`), in a month (`2026-01`), and at any
 * time, known or unknown (`all`, whose period is a dash).
 */
export const windowCounters: Counters<ActionRow> = {
  table: {
    name: 'window_counters',
    columns: { unit: 'text', period: 'text', kind: 'text', expired: 'bool', n: 'int8' },
    key: ['unit', 'period', 'kind', 'expired'],
  },
  counts: windowCounts,
};

type Unit = 'all' | 'month' | 'day';

/** Periods of a unit between two others, neither of them included. */
type Periods = Readonly<{ unit: Unit; after: string; before: string }>;

/** A window as complete periods, which counters hold, and as edges, both ends included, to be counted row by row. */
export type Window = Readonly<{
  periods: readonly Periods[];
  edges: readonly Readonly<{ from?: string; to?: string }>[];
}>;

/** Sorts behind every time and period. */
const behind = '~';

/** The window counters that an action adds one to. */
function windowCounts({ created_at, type, status, chain_state }: ActionRow): Count[] {
  const kind = kindOf(type, status);
  const expired = chain_state === 'expired';
  const one = (unit: Unit, period: string) => ({ unit, period, kind, expired, n: 1 });
  const all = one('all', '-');
  return created_at === null ? [all] : [all, one('month', monthOf(created_at)), one('day', dayOf(created_at))];
}

/**
 * Splits a window of creation, both ends included; the days of its ends are edges. Times are written as `created_at`
 * is.
 *
 * Without ends it is all actions, those of unknown time too.
 */
export function splitWindow(from?: string, to?: string): Window {
  if (from === undefined && to === undefined)
    return { periods: [{ unit: 'all', after: '', before: behind }], edges: [] };
  if (from !== undefined && to !== undefined && dayOf(from) >= dayOf(to)) return { periods: [], edges: [{ from, to }] };
  const first = from === undefined ? [] : [{ from, to: `${dayOf(from)}T${behind}` }];
  const last = to === undefined ? [] : [{ from: `${dayOf(to)}T`, to }];
  return { periods: periodsBetween(from, to), edges: [...first, ...last] };
}

/** The days after that of `from` and the months after its month, and likewise before `to`. */
function periodsBetween(from?: string, to?: string): Periods[] {
  const after = from === undefined ? '' : dayOf(from);
  const before = to === undefined ? behind : dayOf(to);
  if (from !== undefined && to !== undefined && monthOf(from) === monthOf(to)) return [{ unit: 'day', after, before }];
  return [
    ...(from === undefined ? [] : [{ unit: 'day' as const, after, before: `${monthOf(from)}-${behind}` }]),
    {
      unit: 'month',
      after: from === undefined ? '' : monthOf(from),
      before: to === undefined ? behind : monthOf(to),
    },
    ...(to === undefined ? [] : [{ unit: 'day' as const, after: `${monthOf(to)}-`, before }]),
  ];
}

/** The counters of the periods in a slot as rows `kind`, `expired` and `n`. */
export function windowCountersIn({ schemas }: Reading, periods: string): RawBuilder<unknown> {
  const ofPeriods = (column: string) => slot(`${periods}.${column}`);
  return sql`
    select found.kind, found.expired, found.n
    from unnest(${ofPeriods('unit')}::text[], ${ofPeriods('after')}::text[], ${ofPeriods('before')}::text[])
      as periods (unit, after, before)
    cross join lateral (
      select counter.kind, counter.expired, counter.n from ${sql.id(schemas.actions, windowCounters.table.name)} counter
      where counter.unit = periods.unit collate "C"
        and counter.period > periods.after collate "C" and counter.period < periods.before collate "C"
      offset 0
    ) found`;
}

/** Fills the slot `of` with periods. */
export const periodsIn = (of: string, periods: readonly Periods[]): Input => ({
  [`${of}.unit`]: periods.map(({ unit }) => unit),
  [`${of}.after`]: periods.map(({ after }) => after),
  [`${of}.before`]: periods.map(({ before }) => before),
});

const dayOf = (time: string) => time.slice(0, 10);

const monthOf = (time: string) => time.slice(0, 7);
