import { type Expression, type RawBuilder, sql } from 'kysely';
import type { Reading } from './reading.ts';

/** Beyond every height: what is of unknown height counts by who owns the account now. */
const now = '9223372036854775807';

/**
 * The operator that an account belonged to at a height, or null: at most one.
 *
 * Where several claim the account, the one whose stated beginning is the latest at or before the height; a claim that
 * only reaches back before its stated beginning counts where there is no other.
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

/**
 * The accounts that ever were an operator's, each once, as rows of `account` and `sole`.
 *
 * A sole account never was anybody else's and has no end, so that all of it is the operator's whatever the height.
 */
export function accountsOf({ schemas }: Reading, operator: Expression<unknown>): RawBuilder<unknown> {
  const claims = sql.id(schemas.supernodes, 'supernode_accounts');
  return sql`(
    select mine.account, (
      select count(*) = 1 and bool_and(claim.from_height = 0 and claim.until_height is null)
      from ${claims} claim where claim.account = mine.account
    ) as sole
    from (select distinct account from ${claims} where operator = ${operator}) mine
  )`;
}
