import pg from 'pg';
import { isDamage } from '../models/database-error.ts';
import { type Pools, withClient } from '../models/pool.ts';
import { lowerBackend } from '../servers/give-way.ts';

/**
 * Whether the database's own checks can be asked for: tables only from PostgreSQL 14 on, nothing where the extension is
 * not to be had.
 */
type Able = { readonly tables: boolean; readonly indexes: boolean; why?: string };

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
        if (!(relkind === 'r' ? able.tables : able.indexes)) continue;
        const { found, refused } = await checkOne(client, { oid, name, relkind });
        findings.push(...found);
        if (refused !== undefined) able.why ??= refused;
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

/** What was found in one relation, or why it could not be checked. */
type Checked = Readonly<{ found: readonly string[]; refused?: string }>;

async function checkOne(client: pg.ClientBase, { oid, name, relkind }: Relation): Promise<Checked> {
  try {
    if (relkind === 'i') {
      await client.query('select bt_index_check($1::regclass)', [oid]);
      return { found: [] };
    }
    const { rows } = await client.query<{ blkno: string; msg: string }>(
      'select blkno, msg from verify_heapam($1::regclass) limit $2',
      [oid, mostPerRelation],
    );
    return { found: rows.map(({ blkno, msg }) => `${name}, block ${blkno}: ${msg}`) };
  } catch (caught) {
    if (isDamage(caught)) return { found: [`${name}: ${caught.message}`] };
    // What was dropped meanwhile is gone, and a busy relation is checked the next time; nothing else passes for sound.
    if (caught instanceof pg.DatabaseError && passing.includes(caught.code ?? '')) return { found: [] };
    return {
      found: [],
      refused: `${name} was not checked: ${caught instanceof Error ? caught.message : String(caught)}`,
    };
  }
}

/** A relation that is gone, a lock that was not to be had, a statement that took too long. */
const passing = ['42P01', '42704', '55P03', '57014'];
