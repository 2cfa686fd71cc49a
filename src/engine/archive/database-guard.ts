import { setTimeout as pause } from 'node:timers/promises';
import type { Servers } from '../servers/servers.ts';
import type { Logger } from '../../kit/logger.ts';
import { checkDatabase, type DatabaseReport } from './amcheck.ts';
import { type Brakes, brakes } from './policy.ts';
import { migrate } from '../models/migrate.ts';
import { metaSchema } from '../models/engine/generations.ts';
import { onDamage, type Pools, withClient } from '../models/pool.ts';

/** The database, and how often it is checked; `files` only where they are ours. */
type Guarded = Readonly<{
  pools: Pools;
  network: string;
  files: Servers['database'];
  log: Logger;
  scrubIntervalMs: number;
  signal: AbortSignal;
  limits?: Brakes;
}>;

/** What an operator is asked to do about a damaged database that is not made anew by itself. */
export const databaseRemedies = {
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
 * An embedded one that finds the same damage twice, some time apart, is set aside and made anew, once an hour at most;
 * the archive and the read models then come from the log. Of an external one the finding is logged: it is its
 * operator's. Never fails.
 */
export async function guardDatabase(guarded: Guarded): Promise<void> {
  await Promise.all([keepTables(guarded), keepChecking(guarded)]);
}

async function keepTables({ pools, network, log, signal }: Guarded): Promise<void> {
  while (!signal.aborted) {
    await pause(pollEachMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    try {
      if (await hasTables(pools, network)) continue;
      log.warn('the database is empty; making its tables');
      await migrate({ pools, network });
    } catch (err) {
      log.debug({ err }, 'the database does not answer');
    }
  }
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
    return { ...report, findings: [...report.findings, ...keptMeeting(met.splice(0))] };
  };
  let replacedAt = -Infinity;
  let saidUnchecked = '';
  while (!signal.aborted) {
    await untilDue(() => met.length >= believedFrom, scrubIntervalMs, signal);
    if (signal.aborted) break;
    const report = await check();
    const { unchecked = '' } = report;
    if (unchecked !== saidUnchecked && unchecked !== '')
      log.warn({ unchecked }, 'the database cannot be checked whole');
    saidUnchecked = unchecked;
    if (report.findings.length > 0 && (await judge(guarded, { report, check, replacedAt })))
      replacedAt = performance.now();
  }
  stop();
}

/** What statements have met so often that it is believed: a table cut to nothing passes the checks of the database. */
function keptMeeting(met: readonly Error[]): string[] {
  const times = new Map<string, number>();
  for (const { message } of met) times.set(message, (times.get(message) ?? 0) + 1);
  return [...times].filter(([, count]) => count >= believedFrom).map(([message]) => message);
}

/** Ends after `intervalMs`, or sooner once something is due or the signal aborts. */
async function untilDue(isDue: () => boolean, intervalMs: number, signal: AbortSignal): Promise<void> {
  for (let waited = 0; waited < intervalMs && !isDue() && !signal.aborted; waited += pollEachMs)
    await pause(Math.min(pollEachMs, intervalMs), undefined, { signal }).catch(() => undefined);
}

type Judging = Readonly<{
  report: DatabaseReport;
  check: () => Promise<DatabaseReport>;
  replacedAt: number;
}>;

/** Whether the database was made anew for what was found. */
async function judge(
  { files, log, signal, limits = brakes }: Guarded,
  { report, check, replacedAt }: Judging,
): Promise<boolean> {
  log.warn({ findings: report.findings }, 'the database found damage in its files; it is checked again');
  await pause(limits.confirmAfterMs, undefined, { signal }).catch(() => undefined);
  const again = signal.aborted ? undefined : await check();
  const findings = report.findings.filter((one) => again?.findings.includes(one));
  if (findings.length === 0) return false;
  const isSoon = performance.now() - replacedAt < limits.restoreEachMs;
  if (!files || isSoon) {
    const remedy = files ? databaseRemedies.startAgain : databaseRemedies.restore;
    log.error({ findings, remedy }, 'files of the database are damaged; its operator has to act');
    return false;
  }
  log.error({ findings }, 'files of the database are damaged; it is set aside and made anew from the log');
  await files.replace();
  return true;
}
