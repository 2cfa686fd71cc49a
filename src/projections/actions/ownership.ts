import { type Expression, type RawBuilder, sql } from 'kysely';
import type { Heights } from './totals/id-ranges.ts';
import type { Reading } from '../reading.ts';
import { run, slot } from '../statement.ts';
import type { SuperNodeAccountRow } from '../tables.ts';

/** Beyond every height: an action of unknown height counts for the account's current owner. */
const now = '9223372036854775807';

/** An account while it was an operator's, from one height to another, both included. */
export type Owned = Readonly<{ operator: string; account: string }> & Heights;

/**
 * The operator that an account belonged to at a height, or null: at most one.
 *
 * Where several claim the account, the one whose stated start is the latest at or before the height wins; a claim that
 * only reaches back before its stated start counts where there is no other.
 */
export function ownerAt(
  { schemas }: Reading,
  account: Expression<unknown>,
  height: Expression<unknown>,
): RawBuilder<string | null> {
  const at = sql`coalesce(${height}, ${sql.lit(now)}::int8)`;
  return sql`(
    select owned.operator from ${sql.id(schemas.supernodes, 'supernode_accounts')} owned
    where owned.account = ${account}
      and owned.from_height <= ${at} and (owned.until_height is null or owned.until_height > ${at})
    order by owned.stated_height <= ${at} desc, abs(${at} - owned.stated_height), owned.operator
    limit 1
  )`;
}

/** The accounts that ever were an operator's, and when. */
export async function ownedBy(reading: Reading, operator: string): Promise<Owned[]> {
  const { supernodes } = reading.schemas;
  const table = sql.id(supernodes, 'supernode_accounts');
  const claims = await run<SuperNodeAccountRow>(reading, {
    shape: `owned ${supernodes}`,
    text: () =>
      sql`select * from ${table} where account in (select account from ${table} where operator = ${slot('operator')})`,
    given: { operator },
  });
  return ownedIn(claims).filter((owned) => owned.operator === operator);
}

/** The owners of accounts over time, by the rule of `ownerAt`, from all claims on the accounts. */
export function ownedIn(claims: readonly SuperNodeAccountRow[]): Owned[] {
  const byAccount = Map.groupBy(claims, ({ account }) => account);
  return [...byAccount].flatMap(([account, all]) => {
    const turns = [...new Set(all.flatMap(turnsOf))].toSorted((a, b) => a - b);
    const owned: Owned[] = [];
    for (const [position, from] of turns.entries()) {
      const operator = ownerOf(all, from);
      const to = (turns[position + 1] ?? Infinity) - 1;
      const last = owned.at(-1);
      if (last && last.operator === operator && last.to === from - 1) owned.splice(-1, 1, { ...last, to });
      else if (operator !== undefined) owned.push({ operator, account, from, to });
    }
    return owned;
  });
}

/** Heights at which the owner may change. */
const turnsOf = ({ from_height, until_height, stated_height }: SuperNodeAccountRow): number[] => [
  from_height,
  until_height ?? from_height,
  Math.max(stated_height, from_height),
];

function ownerOf(claims: readonly SuperNodeAccountRow[], at: number): string | undefined {
  const open = claims.filter(({ from_height: from, until_height: until }) => from <= at && (until ?? Infinity) > at);
  const [best] = open.toSorted((a, b) => {
    const started = Number(b.stated_height <= at) - Number(a.stated_height <= at);
    const near = Math.abs(at - a.stated_height) - Math.abs(at - b.stated_height);
    return started || near || (a.operator < b.operator ? -1 : 1);
  });
  return best?.operator;
}
