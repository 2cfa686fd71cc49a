import { sql } from 'kysely';
import { fleet, pastNodes } from './fleet.ts';
import { supernodeTable } from './fleet-tables.ts';
import { ownedBy } from '../actions/ownership.ts';
import { ownedByAt } from '../actions/past-owners.ts';
import { type PaidTotal, paidTo } from '../actions/totals/payment-counters.ts';
import { positionOf } from '../relation.ts';
import type { Reading } from '../reading.ts';

/** Averages and sums are over available nodes, 0 where there is none. */
export type FleetStats = Readonly<{
  total: number;
  available: number;
  unavailable: number;
  avg_cpu_usage_percent: number;
  storage_total_gb: number;
  memory_total_gb: number;
}>;

/** A version that a listed node reports, and whether that node is available. */
export type VersionInUse = Readonly<{ version: string; available: boolean }>;

/** A listed SuperNode with the state and the height that decide whether it has a rank. */
export type NodeToRank = Readonly<{ operator: string; state: string; registeredHeight: number | null }>;

/** Figures of all listed SuperNodes together; added up in one order, on which the last digits of sums depend. */
export async function fleetStats(reading: Reading): Promise<FleetStats> {
  const { rows } = await sql<FleetStats>`
    select count(*) as total,
      count(*) filter (where available) as available,
      count(*) filter (where not available) as unavailable,
      coalesce(avg(cpu_usage_percent order by id) filter (where available), 0) as avg_cpu_usage_percent,
      coalesce(sum(storage_total_gb order by id) filter (where available), 0) as storage_total_gb,
      coalesce(sum(memory_total_gb order by id) filter (where available), 0) as memory_total_gb
    from (${fleet(reading, sql`true`)}) node
  `.execute(reading.db);
  const [stats] = rows;
  if (!stats) throw new Error('The figures of the fleet have one row, whatever the tables hold');
  return stats;
}

/**
 * The payments to an operator, by denomination: to an account that was its own at the payment's height; those up to a
 * height where one is named.
 */
export async function paymentsOf(
  reading: Reading,
  { operator, height = Infinity }: Readonly<{ operator: string; height?: number | undefined }>,
): Promise<PaidTotal[]> {
  const at = positionOf(reading, 'supernodes');
  const owned = at === undefined ? await ownedBy(reading, operator) : await ownedByAt(reading, operator, at);
  const upTo = owned.map((one) => ({ ...one, to: Math.min(one.to, height) })).filter(({ from, to }) => from <= to);
  return await paidTo(reading, upTo);
}

/** The versions that listed nodes report, one entry per version and availability. */
export async function versionsInUse(reading: Reading): Promise<VersionInUse[]> {
  const { rows } = await sql<VersionInUse>`
    select distinct version, available from (${fleet(reading, sql`a.version is not null`)}) node order by version, available
  `.execute(reading.db);
  return [...rows];
}

/** The input of ranks, for every listed SuperNode. */
export async function nodesToRank(reading: Reading): Promise<NodeToRank[]> {
  const { db, schemas } = reading;
  if (reading.at) {
    const columns = sql`s.id as operator, s.state, s.registered_height as "registeredHeight"`;
    const { rows } = await sql<NodeToRank>`
      select ${columns} from ${pastNodes(reading, 'supernodes', supernodeTable)} s`.execute(db);
    return [...rows];
  }
  return db
    .withSchema(schemas.supernodes)
    .selectFrom('supernodes')
    .select(['id as operator', 'state', 'registered_height as registeredHeight'])
    .where('removed', '=', false)
    .execute();
}

/** The ids of all SuperNodes that ever were listed, ordered bytewise; a removed one leaves its key behind. */
export async function everyNode({ db, schemas }: Reading): Promise<string[]> {
  const rows = await db.withSchema(schemas.supernodes).selectFrom('supernodes').select('id').orderBy('id').execute();
  return rows.map(({ id }) => id);
}
