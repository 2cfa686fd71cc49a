import { type RawBuilder, sql } from 'kysely';
import type { Owned } from '../ownership.ts';
import type { Count, Counters } from '../../projection.ts';
import type { Reading } from '../../reading.ts';
import { type CountedFrom, changesAt, nearerEnd } from '../action-rows.ts';
import { positionInput, positionOf } from '../../relation.ts';
import { run, slot } from '../../statement.ts';
import type { ActionRow } from '../../tables.ts';
import type { Heights } from './id-ranges.ts';

/** A total in one denomination: decimal text of any size, and the number of transactions. */
export type PaidTotal = Readonly<{ denom: string; amount: string; transactions: number }>;

/** The payments to an account in one denomination within a cell of heights, and the number of transactions. */
export const paymentCounters: Counters<ActionRow> = {
  table: {
    name: 'payment_counters',
    columns: { account: 'text', cell: 'int8', denom: 'text', transactions: 'int8', amount: 'numeric' },
    key: ['account', 'cell', 'denom'],
  },
  counts: paymentCounts,
};

/** Heights in one cell: nine days of them. The two cells at the ends of a range are read payment by payment. */
const heightsPerCell = 131_072;

/** A transaction counts with the first of its actions. */
function paymentCounts({ payments }: ActionRow): Count[] {
  return payments.map(({ account, denom, amount, height, again }) => {
    const cell = Math.floor(height / heightsPerCell);
    return { account, cell, denom, transactions: again ? 0 : 1, amount };
  });
}

/** Cells from one to another, both included, null where there is no end. */
type Cells = Readonly<{ account: string; first: number; last: number | null }>;
type Edge = Readonly<{ account: string }> & Heights;

/** The complete cells within some heights, and the heights beside them. */
function split({ account, from, to }: Owned): { cells: Cells[]; edges: Edge[] } {
  const first = Math.ceil(from / heightsPerCell);
  const end = Math.floor((to + 1) / heightsPerCell);
  if (first >= end) return { cells: [], edges: [{ account, from, to }] };
  const edges = [
    { account, from, to: first * heightsPerCell - 1 },
    { account, from: end * heightsPerCell, to },
  ];
  return {
    cells: [{ account, first, last: end === Infinity ? null : end - 1 }],
    edges: edges.filter((edge) => edge.from <= edge.to && edge.from < Infinity),
  };
}

/** The payments to accounts while an operator owned them, by denomination; exact. */
export async function paidTo(reading: Reading, owned: readonly Owned[]): Promise<PaidTotal[]> {
  const at = positionOf(reading, 'actions');
  const end = at === undefined ? undefined : nearerEnd(reading, at);
  const parts = end === 'start' ? [] : owned.map(split);
  const changes = end === undefined ? sql`` : sql` union all ${changedPayments(reading, end)}`;
  const cells = parts.flatMap((part) => part.cells);
  const edges = parts.flatMap((part) => part.edges);
  const text = () => sql`
    select denom, sum(amount)::text as amount, sum(transactions)::int8 as transactions from (
      ${inCells(reading)} union all ${inRows(reading)}${changes}
    ) paid group by denom ${end === undefined ? sql`` : isPaid} order by denom
  `;
  const input = {
    'cells.account': cells.map(({ account }) => account),
    'cells.first': cells.map(({ first }) => first),
    'cells.last': cells.map(({ last }) => last),
    'edges.account': edges.map(({ account }) => account),
    'edges.since': edges.map(({ from }) => from),
    'edges.until': edges.map(({ to }) => (to === Infinity ? null : to)),
    ...(at === undefined ? {} : positionInput(reading, 'actions', at)),
    'own.account': owned.map(({ account }) => account),
    'own.since': owned.map(({ from }) => from),
    'own.until': owned.map(({ to }) => (to === Infinity ? null : to)),
  };
  const shape = `paid ${reading.schemas.actions} ${end ?? ''}`;
  const rows = await run<PaidTotal>(reading, { shape, text, given: input });
  return [...rows];
}

/** Counters have no rows of zeros: what nothing was paid in yet is left out. */
const isPaid = sql`having sum(amount) <> 0 or sum(transactions) <> 0`;

/** What leads from the payments at one end of history to those of a position. */
function changedPayments(reading: Reading, end: CountedFrom): RawBuilder<unknown> {
  return sql`
    select paid.denom, m.sign * paid.amount, m.sign * (not paid.again)::int4
    from ${changesAt(reading, end, ['payments'])} m
    cross join lateral jsonb_to_recordset(m.payments)
      as paid (account text, denom text, amount numeric, height int8, again bool)
    join unnest(${slot('own.account')}::text[], ${slot('own.since')}::int8[], ${slot('own.until')}::int8[])
      as own (account, since, until) on own.account = paid.account
    where paid.height >= own.since and (own.until is null or paid.height <= own.until)`;
}

/** In place of no end: a bound that may be absent is none of an index, which would be read up to its end. */
const noEnd = sql`9223372036854775807::int8`;

function inCells({ schemas }: Reading): RawBuilder<unknown> {
  return sql`
    select found.denom, found.amount, found.transactions
    from unnest(${slot('cells.account')}::text[], ${slot('cells.first')}::int8[], ${slot('cells.last')}::int8[])
      as range (account, first, last)
    cross join lateral (
      select counter.* from ${sql.id(schemas.actions, paymentCounters.table.name)} counter
      where counter.account = range.account collate "C"
        and counter.cell between range.first and coalesce(range.last, ${noEnd})
      offset 0
    ) found`;
}

function inRows({ schemas }: Reading): RawBuilder<unknown> {
  return sql`
    select p.denom, p.amount, (not p.again)::int4 as transactions
    from unnest(${slot('edges.account')}::text[], ${slot('edges.since')}::int8[], ${slot('edges.until')}::int8[])
      as own (account, since, until)
    cross join lateral (
      select * from ${sql.id(schemas.actions, 'payments')} p
      where p.account = own.account collate "C" and p.height between own.since and coalesce(own.until, ${noEnd})
      offset 0
    ) p`;
}
