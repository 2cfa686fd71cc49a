import pg from 'pg';
import type { Logger } from '../../kit/logger.ts';
import { poll, repeat } from '../../kit/repeat.ts';
import { wait } from '../../kit/wait.ts';
import { isDamage } from '../models/database-error.ts';
import { metaSchema } from '../models/engine/generations.ts';
import { migrate } from '../models/migrate.ts';
import { createPools, onDamage, type Pools, withClient } from '../models/pool.ts';
import { lowerBackend } from '../servers/give-way.ts';
import type { Servers } from '../servers/servers.ts';
import type { BothStores } from './archive.ts';
import { lackingStreams } from './lacking.ts';
import { archiveStateOf } from './observed.ts';
import { type Brakes, brakes } from './states.ts';

/** A network's database: its connections, and the state of the archive in it. */
export type Database = Readonly<{
  pools: Pools;
  archive: ReturnType<typeof archiveStateOf>;
  /**
   * Runs the work of a start on it; where an embedded one turns out to be damaged, it is quarantined and made anew, and
   * the work runs once more.
   */
  onSound: <T>(work: () => Promise<T>) => Promise<T>;
}>;

/**
 * Opens a network's database and creates its missing tables.
 *
 * An embedded one whose catalogues cannot be read is quarantined and made anew: the log holds all of its contents.
 */
export async function openDatabase(
  { postgres, database }: Servers,
  { network, logger }: { network: string; logger: Logger },
): Promise<Database> {
  const pools = createPools(postgres, { applicationName: `annals ${network}` });
  const prepare = (): Promise<void> => migrate({ pools, network });
  const onSound = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (err) {
      if (!isDamage(err) || !database) throw err;
      logger.error({ err }, 'files of the database are damaged; it is set aside and made anew from the log');
      await database.replace();
      await prepare();
      return await work();
    }
  };
  await onSound(prepare);
  return { pools, archive: archiveStateOf(pools, network), onSound };
}

/** The database, and how often it is checked; `files` only where they are ours. */
type Guarded = Readonly<{
  pools: Pools;
  network: string;
  stores: BothStores;
  files: Servers['database'];
  log: Logger;
  scrubIntervalMs: number;
  signal: AbortSignal;
  limits?: Brakes;
}>;

/** The remedies for an operator whose damaged database is not made anew automatically. */
export const databaseRemedies = {
  restoreLog:
    'the archive in it may be all that is left of events that the log lacks: bring them back with annals repair, or move the folder of the database away to give them up',
  startAgain: 'it was made anew a short time ago: look at the disk, then start again to have it made anew once more',
  restore: 'restore it, or empty it: all is made anew from the log',
} as const;

const pollEachMs = 1000;
/** One such answer may come of a table that was just dropped; so many of the same are a finding. */
const believedFrom = 3;

/**
 * Guards the database until the signal ends it: makes its tables again where it was made anew, and has it check itself
 * each `scrubIntervalMs`, or when statements have met damage.
 *
 * An embedded one that finds the same damage twice, some time apart, is quarantined and made anew, once an hour at
 * most, and not while a comparison of both finds that the log lacks what the archive has; the archive and the read
 * models then come from the log. For an external one the finding is only logged: its operator repairs it. Never fails.
 */
export async function guardDatabase(guarded: Guarded): Promise<void> {
  await Promise.all([keepTables(guarded), keepChecking(guarded)]);
}

async function keepTables({ pools, network, log, signal }: Guarded): Promise<void> {
  const keep = async (): Promise<void> => {
    if (await hasTables(pools, network)) return;
    log.warn('the database is empty; making its tables');
    await migrate({ pools, network });
  };
  const quietly = (): Promise<void> =>
    keep().catch((err: unknown) => log.debug({ err }, 'the database does not answer'));
  await repeat('tables were not kept', quietly, { everyMs: pollEachMs, firstMs: pollEachMs, signal });
}

async function hasTables(pools: Pools, network: string): Promise<boolean> {
  const { rows } = await withClient(pools.write, (client) =>
    client.query<{ found: string | null }>('select to_regclass($1)::text as found', [
      `${metaSchema(network)}.archive_heads`,
    ]),
  );
  return rows[0]?.found != null;
}

async function keepChecking(guarded: Guarded): Promise<void> {
  const { pools, scrubIntervalMs, log, signal } = guarded;
  const met: Error[] = [];
  const stop = onDamage(pools, (damage) => met.push(damage));
  const check = async (): Promise<DatabaseReport> => {
    const report = await checkDatabase(pools, signal).catch((err: unknown): DatabaseReport => {
      log.debug({ err }, 'the database could not be checked');
      return { findings: [] };
    });
    return { ...report, findings: [...report.findings, ...storedMeeting(met.splice(0))] };
  };
  let replacedAt = -Infinity;
  let reportedUnchecked = '';
  const isDue = (): true | undefined => met.length >= believedFrom || undefined;
  while (!signal.aborted) {
    await poll(isDue, { everyMs: Math.min(pollEachMs, scrubIntervalMs), withinMs: scrubIntervalMs, signal });
    if (signal.aborted) break;
    const report = await check();
    const { unchecked = '' } = report;
    if (unchecked !== reportedUnchecked && unchecked !== '')
      log.warn({ unchecked }, 'the database cannot be checked whole');
    reportedUnchecked = unchecked;
    if (report.findings.length > 0 && (await judge(guarded, { report, check, replacedAt })))
      replacedAt = performance.now();
  }
  stop();
}

/**
 * What statements have met so often that it is believed, wherever in a file: a table cut to nothing passes the checks
 * of the database, and each statement meets another place of it.
 */
function storedMeeting(met: readonly Error[]): string[] {
  const times = new Map<string, number>();
  for (const { message } of met) {
    const anywhere = message.replaceAll(/(\(|block |offset )[\d,]+/g, '$1…');
    times.set(anywhere, (times.get(anywhere) ?? 0) + 1);
  }
  return [...times].filter(([, count]) => count >= believedFrom).map(([message]) => message);
}

type Judging = Readonly<{
  report: DatabaseReport;
  check: () => Promise<DatabaseReport>;
  replacedAt: number;
}>;

/** Returns whether the database was made anew because of the findings. */
async function judge(
  { files, stores, log, signal, limits = brakes }: Guarded,
  { report, check, replacedAt }: Judging,
): Promise<boolean> {
  log.warn({ findings: report.findings }, 'the database found damage in its files; it is checked again');
  await wait(limits.confirmAfterMs, signal);
  if (signal.aborted) return false;
  const again = await check();
  const findings = report.findings.filter((one) => again.findings.includes(one));
  if (findings.length === 0) {
    log.info('the second check of the database did not find that damage');
    return false;
  }
  const isSoon = performance.now() - replacedAt < limits.restoreEachMs;
  if (!files || isSoon) {
    const remedy = files ? databaseRemedies.startAgain : databaseRemedies.restore;
    log.error({ findings, remedy }, 'files of the database are damaged; its operator has to act');
    return false;
  }
  const lacking = await lackingStreams(stores, signal).catch((err: unknown) => {
    log.debug({ err }, 'nothing is known of the log for now');
    return undefined;
  });
  if (lacking === undefined || lacking.length > 0) {
    const remedy = databaseRemedies.restoreLog;
    log.error({ findings, lacking, remedy }, 'files of the database are damaged; it is kept until the log is whole');
    return false;
  }
  log.error({ findings }, 'files of the database are damaged; it is set aside and made anew from the log');
  await files.replace();
  return true;
}

/**
 * Which of the database's own checks are available: of tables only from PostgreSQL 14 on, none where the extension is
 * missing.
 */
type Able = { readonly tables: boolean; readonly indexes: boolean; why?: string };

/** The damage of the database's files, in words; `unchecked` is the reason why some were not checked. */
export type DatabaseReport = Readonly<{ findings: readonly string[]; unchecked?: string | undefined }>;

/** Limit of findings of one relation; more of the same add nothing. */
const mostPerRelation = 5;

/** What belongs to us, with the tables of long values beside it, and what the database needs to find it. */
const relations = `
  select one.oid, one.oid::regclass::text as name, case one.relkind when 't' then 'r' else one.relkind end as relkind
  from pg_class one join pg_namespace home on home.oid = one.relnamespace join pg_am method on method.oid = one.relam
  where (home.nspname like 'annals\\_%' or home.nspname in ('pg_catalog', 'pg_toast'))
    and (one.relkind in ('r', 't') or (one.relkind = 'i' and method.amname = 'btree')) and one.relpersistence = 'p'
  order by one.oid`;

/**
 * Runs PostgreSQL's checks of its own tables and indexes (extension amcheck): pages, rows, and the order of entries.
 *
 * Changes nothing but to create the extension once. Checks one relation after the other on one connection, at a lower
 * priority than others.
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
  return { findings, unchecked };
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

/** The findings in one relation, or why it could not be checked. */
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
    // A relation that was dropped meanwhile is gone, and a busy one is checked the next time; nothing else passes for
    // sound.
    if (caught instanceof pg.DatabaseError && passing.includes(caught.code ?? '')) return { found: [] };
    return {
      found: [],
      refused: `${name} was not checked: ${caught instanceof Error ? caught.message : String(caught)}`,
    };
  }
}

/** A relation that is gone, a lock that was not to be had, a statement that took too long. */
const passing = ['42P01', '42704', '55P03', '57014'];
