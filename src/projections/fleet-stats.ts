import { sql } from 'kysely';
import { counted } from './action-total.ts';
import { counterName } from './counter-names.ts';
import { fleet } from './fleet.ts';
import { accountsOf, ownerAt } from './ownership.ts';
import type { Reading } from './reading.ts';

/** Averages and sums are over available nodes, 0 where there is none. */
export type FleetStats = Readonly<{
  total: number;
  available: number;
  unavailable: number;
  avg_cpu_usage_percent: number;
  storage_total_gb: number;
  memory_total_gb: number;
}>;

/** How many actions a SuperNode finalized. */
export type NodeActions = Readonly<{ id: string; cascade: number; sense: number }>;

/** What was paid in one denomination: decimal text of any size, and in how many transactions. */
export type PaidTotal = Readonly<{ denom: string; amount: string; transactions: number }>;

/** A version that a listed node reports, and whether that node is available. */
export type VersionInUse = Readonly<{ version: string; available: boolean }>;

/** A listed SuperNode with the state and the height that decide whether it has a rank. */
export type NodeToRank = Readonly<{ operator: string; state: string; registeredHeight: number | null }>;

/** Figures of all listed SuperNodes together. */
export async function fleetStats(reading: Reading): Promise<FleetStats> {
  const { rows } = await sql<FleetStats>`
    select count(*) as total,
      count(*) filter (where available) as available,
      count(*) filter (where not available) as unavailable,
      coalesce(avg(cpu_usage_percent) filter (where available), 0) as avg_cpu_usage_percent,
      coalesce(sum(storage_total_gb) filter (where available), 0) as storage_total_gb,
      coalesce(sum(memory_total_gb) filter (where available), 0) as memory_total_gb
    from (${fleet(reading, sql`true`)}) node
  `.execute(reading.db);
  const [stats] = rows;
  if (!stats) throw new Error('The figures of the fleet have one row, whatever the tables hold');
  return stats;
}

/**
 * What every listed SuperNode finalized, zeros too, ordered by id bytewise; an action is the node's whose account it was then.
 *
 * Sole accounts are read from their counters, only the others are counted.
 */
export async function actionStatsByNode(reading: Reading): Promise<NodeActions[]> {
  const { schemas, db } = reading;
  const finalized = (type: string) => sql`coalesce(sum(case when own.sole
    then ${counted(reading, sql`format(${counterName({ account: '%s' }, { type })}, own.account)`)}
    else (
      select count(*) from ${sql.id(schemas.actions, 'action_accounts')} m
      where m.account = own.account and m.type = ${type} and ${ownerAt(reading, sql`m.account`, sql`m.at_height`)} = s.id
    )
  end), 0)::int8`;
  const { rows } = await sql<NodeActions>`
    select s.id, ${finalized('cascade')} as cascade, ${finalized('sense')} as sense
    from ${sql.id(schemas.supernodes, 'supernodes')} s left join lateral ${accountsOf(reading, sql`s.id`)} own on true
    where not s.removed group by s.id order by s.id
  `.execute(db);
  return [...rows];
}

/** What an operator was paid, by denomination: payments to an account that was its own at the payment's height. */
export async function paymentsOf(reading: Reading, operator: string): Promise<PaidTotal[]> {
  const { schemas, db } = reading;
  const { rows } = await sql<PaidTotal>`
    select denom, sum(amount)::text as amount, count(*) as transactions
    from (
      select p.denom, p.tx_hash, sum(p.amount) as amount
      from ${accountsOf(reading, sql`${operator}`)} own
      join ${sql.id(schemas.actions, 'payments')} p on p.account = own.account
      where own.sole or ${ownerAt(reading, sql`p.account`, sql`p.height`)} = ${operator}
      group by p.denom, p.tx_hash
    ) paid
    group by denom order by denom
  `.execute(db);
  return [...rows];
}

/** The versions that listed nodes report, one entry per version and availability. */
export async function versionsInUse(reading: Reading): Promise<VersionInUse[]> {
  const { rows } = await sql<VersionInUse>`
    select distinct version, available from (${fleet(reading, sql`a.version is not null`)}) node order by version, available
  `.execute(reading.db);
  return [...rows];
}

/** What a rank is computed from, of every listed SuperNode. */
export async function nodesToRank({ db, schemas }: Reading): Promise<NodeToRank[]> {
  return db
    .withSchema(schemas.supernodes)
    .selectFrom('supernodes')
    .select(['id as operator', 'state', 'registered_height as registeredHeight'])
    .where('removed', '=', false)
    .execute();
}
