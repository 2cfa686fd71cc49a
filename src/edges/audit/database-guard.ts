import { setTimeout as pause } from 'node:timers/promises';
import type { Servers } from '../servers/servers.ts';
import type { Logger } from '../kit/logger.ts';
import { damagedPages } from '../servers/postgres/damaged-pages.ts';
import { damagedLengths } from './damaged-lengths.ts';
import { migrate } from '../models/migrate.ts';
import { metaSchema } from '../models/engine/names.ts';
import { onDamage, type Pools, withClient } from '../models/pool.ts';

/** The database, and how closely its files are watched; `files` only where they are ours. */
export type Guarded = Readonly<{
  pools: Pools;
  network: string;
  files: Servers['database'];
  log: Logger;
  scrubIntervalMs: number;
  signal: AbortSignal;
}>;

const lookEachMs = 1000;
/** However seldom all pages are read, what was cut off or deleted is found sooner. */
const lengthsEachMs = 15_000;
/** One such answer may come of a table that was just dropped. */
const believedFrom = 3;

/**
 * Watches the database until the signal ends it: makes its tables again where it was made anew, looks how long its files are, and reads all
 * pages of them again and again.
 *
 * An embedded one with a damaged file is set aside and made anew; the archive and the read models then come from the log. Never fails.
 */
export async function guardDatabase(guarded: Guarded): Promise<void> {
  const finders = guarded.files ? keepFiles(guarded, guarded.files) : [];
  await Promise.all([keepTables(guarded), ...finders]);
}

async function keepTables({ pools, network, log, signal }: Guarded): Promise<void> {
  while (!signal.aborted) {
    await pause(lookEachMs, undefined, { signal }).catch(() => undefined);
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

type Files = Exclude<Guarded['files'], undefined>;

/** Of two that find the same damage only the first has the database made anew. */
function keepFiles(guarded: Guarded, files: Files): Promise<void>[] {
  const { log, signal } = guarded;
  let times = 0;
  const judge = async (find: () => Promise<readonly unknown[]>): Promise<void> => {
    const before = times;
    const damaged = await find().catch(() => []);
    if (signal.aborted || damaged.length === 0 || times !== before) return;
    times += 1;
    log.error({ damaged }, 'files of the database are damaged; it is set aside and made anew from the log');
    await files.replace();
  };
  return [keepLengths(guarded, files, judge), keepPages(guarded, files, judge)];
}

type Judge = (find: () => Promise<readonly unknown[]>) => Promise<void>;

async function keepLengths(
  { pools, scrubIntervalMs, signal }: Guarded,
  { folder }: Files,
  judge: Judge,
): Promise<void> {
  const find = async (): Promise<readonly string[]> => {
    const { damaged, remember } = await damagedLengths(pools, folder);
    if (damaged.length === 0) {
      await remember();
      return damaged;
    }
    await pause(lookEachMs, undefined, { signal });
    const again = await damagedLengths(pools, folder);
    return again.damaged.filter((one) => damaged.includes(one));
  };
  while (!signal.aborted) {
    await judge(find);
    await pause(Math.min(scrubIntervalMs, lengthsEachMs), undefined, { signal }).catch(() => undefined);
  }
}

async function keepPages({ pools, scrubIntervalMs, signal }: Guarded, { folder }: Files, judge: Judge): Promise<void> {
  const told: Error[] = [];
  const stop = onDamage(pools, (damage) => told.push(damage));
  while (!signal.aborted) {
    for (let waited = 0; waited < scrubIntervalMs && told.length < believedFrom; waited += lookEachMs)
      await pause(Math.min(lookEachMs, scrubIntervalMs), undefined, { signal }).catch(() => undefined);
    const isTold = told.length >= believedFrom;
    await judge(async () => (isTold ? told.map(({ message }) => message) : await damagedPages(folder, signal)));
    told.length = 0;
  }
  stop();
}
