import { setTimeout as pause } from 'node:timers/promises';
import type { Servers } from '../servers.ts';
import type { Logger } from '../log.ts';
import { damagedPages } from '../embedded/damaged-pages.ts';
import { missingFiles } from './missing-files.ts';
import { migrate } from '../postgres/migrate.ts';
import { metaSchema } from '../postgres/names.ts';
import { onDamage, type Pools, withClient } from '../postgres/pool.ts';

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
/** One such answer may come of a table that was just dropped. */
const believedFrom = 3;

/**
 * Watches the database until the signal ends it: makes its tables again where it was made anew, and reads all pages of its files again and again.
 *
 * An embedded one with a damaged page is set aside and made anew; the archive and the read models then come from the log. Never fails.
 */
export async function guardDatabase(guarded: Guarded): Promise<void> {
  await Promise.all([keepTables(guarded), keepPages(guarded)]);
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

async function keepPages({ files, pools, log, scrubIntervalMs, signal }: Guarded): Promise<void> {
  const told: Error[] = [];
  const stop = onDamage(pools, (damage) => told.push(damage));
  while (files && !signal.aborted) {
    for (let waited = 0; waited < scrubIntervalMs && told.length < believedFrom; waited += lookEachMs)
      await pause(Math.min(lookEachMs, scrubIntervalMs), undefined, { signal }).catch(() => undefined);
    const isTold = told.length >= believedFrom;
    const damaged = isTold
      ? told.map(({ message }) => message)
      : await damageIn(files.folder, pools, signal).catch(() => []);
    told.length = 0;
    if (signal.aborted || damaged.length === 0) continue;
    log.error({ damaged }, 'files of the database are damaged; it is set aside and made anew from the log');
    await files.replace();
  }
  stop();
}

async function damageIn(folder: string, pools: Pools, signal: AbortSignal): Promise<unknown[]> {
  const gone = await missingFiles(pools, folder).catch((): string[] => []);
  if (gone.length > 0) await pause(lookEachMs, undefined, { signal });
  const stillGone = gone.length > 0 ? await missingFiles(pools, folder) : [];
  const both = stillGone.filter((file) => gone.includes(file));
  return both.length > 0 ? both : await damagedPages(folder, signal);
}
