import type pg from 'pg';
import { isDamage } from '../models/database-error.ts';
import { type Pools, withClient } from '../models/pool.ts';
import { lowerBackend } from '../servers/give-way.ts';

/**
 * Whether the database's own checks can be asked for: tables only from PostgreSQL 14 on, nothing where the extension is
 * not to be had.
 */
type Able = Readonly<{ tables: boolean; indexes: boolean; why?: string }>;

/** What is wrong with the database's files, in words; `unchecked` says why less than all was looked at. */
export type DatabaseReport = Readonly<{ findings: readonly string[]; unchecked?: string }>;

/** Of one relation; more of the same tells nothing new. */
const mostPerRelation = 5;

/** What belongs to us, and what the database needs to find it. */
const relations = `
  select one.oid, one.oid::regclass::text as name, one.relkind
  from pg_class one join pg_namespace home on home.oid = one.relnamespace join pg_am method on method.oid = one.relam
  where (home.nspname like 'annals\\_%' or home.nspname = 'pg_catalog')
    and (one.relkind = 'r' or (one.relkind = 'i' and method.amname = 'btree')) and one.relpersistence = 'p'
  order by one.oid`;

/**
 * Asks PostgreSQL to check its own tables and indexes (extension amcheck): pages, rows, and the order of entries.
 *
 * Changes nothing but to create the extension once. Goes through one relation after the other on one connection, which
 * gives way to others.
 */
export async function checkDatabase(pools: Pools, signal: AbortSignal): Promise<DatabaseReport> {
  const findings: string[] = [];
  const unchecked = await withClient(pools.archive, async (client) => {
    try {
      await lowerBackend(client);
      const able = await ableOf(client);
      const { rows } = await client.query<{ oid: number; name: string; relkind: 'r' | 'i' }>(relations);
      for (const { oid, name, relkind } of rows) {
        if (signal.aborted) break;
        if (relkind === 'r' ? able.tables : able.indexes)
          findings.push(...(await checkOne(client, { oid, name, relkind })));
      }
      return able.why;
    } catch (caught) {
      if (!isDamage(caught)) throw caught;
      findings.push(`the catalogue: ${caught.message}`);
      return undefined;
    }
  });
  return { findings, ...(unchecked === undefined ? {} : { unchecked }) };
}

async function ableOf(client: pg.ClientBase): Promise<Able> {
  try {
    await client.query('create extension if not exists amcheck');
  } catch (caught) {
    if (isDamage(caught)) throw caught;
    const why = `the database's own checks are not to be had: ${caught instanceof Error ? caught.message : String(caught)}`;
    return { tables: false, indexes: false, why };
  }
  const { rows } = await client.query<{ found: string | null }>(`select to_regproc('verify_heapam')::text as found`);
  const tables = rows[0]?.found != null;
  return { indexes: true, tables, ...(tables ? {} : { why: 'tables are checked from PostgreSQL 14 on' }) };
}

type Relation = Readonly<{ oid: number; name: string; relkind: 'r' | 'i' }>;

async function checkOne(client: pg.ClientBase, { oid, name, relkind }: Relation): Promise<string[]> {
  try {
    if (relkind === 'i') {
      await client.query('select bt_index_check($1::regclass)', [oid]);
      return [];
    }
    const { rows } = await client.query<{ blkno: string; msg: string }>(
      'select blkno, msg from verify_heapam($1::regclass) limit $2',
      [oid, mostPerRelation],
    );
    return rows.map(({ blkno, msg }) => `${name}, block ${blkno}: ${msg}`);
  } catch (caught) {
    // A relation may be dropped meanwhile, and a busy one is not waited for: neither is damage.
    return isDamage(caught) ? [`${name}: ${caught.message}`] : [];
  }
}
