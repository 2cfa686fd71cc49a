import { type RawBuilder, sql } from 'kysely';
import type { Heights } from './id-ranges.ts';
import type { Owned } from '../ownership.ts';
import type { Count } from '../../projection.ts';
import type { Reading } from '../../reading.ts';
import { remembered } from './memoize.ts';
import type { PaymentOf } from '../../tables.ts';
import { run, slot } from '../../statement.ts';
import { countersBetween, type Names, namesIn, sorting } from './block-counters.ts';

/** What was paid in one denomination: decimal text of any size, and in how many transactions. */
export type PaidTotal = Readonly<{ denom: string; amount: string; transactions: number }>;

/** Heights are counted together in cells of this many: 73 days of them. */
const heightsPerCell = 1_048_576;
/** Digits of an amount in one counter, so that millions of payments add up exactly. */
const digits = 9;
const transactions = 't';

/**
 * Counters of what an account was paid: per cell of heights and denomination one for its transactions, and one for each nine
 * digits of the amounts, the last ones first.
 *
 * @example ['paid:lumera1a,010,ulume,t', ['paid:lumera1a,010,ulume,0', 250]]
 */
export function paidCounts({ account, denom, amount, height, again }: PaymentOf): Count[] {
  const name = nameOf(within(denom, Math.floor(height / heightsPerCell)), account);
  const counts: Count[] = again ? [] : [partOf(transactions, name)];
  for (let place = 0, end = amount.length; end > 0; place += 1, end -= digits) {
    const n = Number(amount.slice(Math.max(end - digits, 0), end));
    if (n > 0) counts.push([partOf(place, name), n]);
  }
  return counts;
}

const within = remembered((denom: string, cell: number) => `${sorting(BigInt(cell))},${denom}`);
const nameOf = remembered((cell: string, account: string) => `paid:${account},${cell}`);
const partOf = remembered((part: string | number, name: string) => `${name},${part}`);

/** The counters of whole cells within some heights, and the heights beside them. */
function split({ account, from, to }: Owned): { names: Names[]; edges: Heights[] } {
  const first = Math.ceil(from / heightsPerCell);
  const end = Math.floor((to + 1) / heightsPerCell);
  if (first >= end) return { names: [], edges: [{ from, to }] };
  const until = end === Infinity ? '-' : `,${sorting(BigInt(end))}`;
  return {
    names: [{ from: `paid:${account},${sorting(BigInt(first))}`, until: `paid:${account}${until}` }],
    edges: [
      { from, to: first * heightsPerCell - 1 },
      { from: end * heightsPerCell, to },
    ].filter((edge) => edge.from <= edge.to && edge.from < Infinity),
  };
}

/** What was paid to accounts while they were somebody's, by denomination; exact. */
export async function paidTo(reading: Reading, owned: readonly Owned[]): Promise<PaidTotal[]> {
  const parts = owned.map((one) => ({ account: one.account, ...split(one) }));
  const edges = parts.flatMap(({ account, edges: all }) => all.map((edge) => ({ account, ...edge })));
  const names = parts.flatMap((part) => part.names);
  const text = () => sql`
    select denom, sum(amount)::text as amount, sum(transactions)::int8 as transactions from (
      ${inCells(reading)} union all ${inRows(reading)}
    ) paid group by denom order by denom
  `;
  const given = {
    ...namesIn('cells', names),
    accounts: edges.map(({ account }) => account),
    since: edges.map(({ from }) => from),
    until: edges.map(({ to }) => (to === Infinity ? null : to)),
  };
  const rows = await run<PaidTotal>(reading, { shape: `paid ${reading.schemas.actions}`, text, given });
  return [...rows];
}

function inCells(reading: Reading): RawBuilder<unknown> {
  const part = sql`split_part(counter.name, ',', 4)`;
  return sql`
    select split_part(counter.name, ',', 3) as denom,
      case when ${part} = ${transactions} then 0 else (counter.n::text || repeat('0', ${digits}::int4 * ${part}::int4))::numeric end as amount,
      case when ${part} = ${transactions} then counter.n else 0 end as transactions
    from ${countersBetween(reading, 'cells')}`;
}

function inRows({ schemas }: Reading): RawBuilder<unknown> {
  return sql`
    select p.denom, p.amount, (not p.again)::int4 as transactions
    from unnest(${slot('accounts')}::text[], ${slot('since')}::int8[], ${slot('until')}::int8[]) as own (account, since, until)
    cross join lateral (
      select * from ${sql.id(schemas.actions, 'payments')} p
      where p.account = own.account collate "C" and p.height >= own.since and (own.until is null or p.height <= own.until)
      offset 0
    ) p`;
}
