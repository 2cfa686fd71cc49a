import { sql } from 'kysely';
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

/** What every listed SuperNode finalized, zeros too, ordered by id bytewise; an action is the node's whose account it was then. */
export async function actionStatsByNode(reading: Reading): Promise<NodeActions[]> {
  const { schemas, db } = reading;
  const { rows } = await sql<NodeActions>`
    with finalized as (
      select ${ownerAt(reading, sql`m.account`, sql`m.at_height`)} as operator, m.type, count(*) as n
      from ${sql.id(schemas.actions, 'action_accounts')} m group by 1, 2
    )
    select s.id,
      coalesce(sum(f.n) filter (where f.type = 'cascade'), 0)::int8 as cascade,
      coalesce(sum(f.n) filter (where f.type = 'sense'), 0)::int8 as sense
    from ${sql.id(schemas.supernodes, 'supernodes')} s left join finalized f on f.operator = s.id
    where not s.removed group by s.id order by s.id
  `.execute(db);
  return [...rows];
}

/** What an operator was paid, by denomination: payments to an account that was its own at the payment's height. */
export async function paymentsOf(reading: Reading, operator: string): Promise<PaidTotal[]> {
  const { schemas, db } = reading;
  const { rows } = await sql<PaidTotal>`
    select p.denom, sum(p.amount)::text as amount, count(distinct p.tx_hash) as transactions
    from ${accountsOf(reading, operator)} own
    join ${sql.id(schemas.actions, 'payments')} p on p.account = own.account
    where ${ownerAt(reading, sql`p.account`, sql`p.height`)} = ${operator}
    group by p.denom order by p.denom
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
