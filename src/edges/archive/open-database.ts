import type { Logger } from '../log.ts';
import { isDamage } from '../postgres/database-error.ts';
import { migrate } from '../postgres/migrate.ts';
import { createPools, type Pools } from '../postgres/pool.ts';
import type { Servers } from '../servers.ts';
import { archiveStateOf } from './state.ts';

/** A network's database: its connections, and how the archive in it stands. */
export type Database = Readonly<{ pools: Pools; archive: ReturnType<typeof archiveStateOf> }>;

/**
 * Opens a network's database and makes what is missing of its tables.
 *
 * An embedded one whose catalogues cannot be read is set aside and made anew: the log has everything.
 */
export async function openDatabase(
  { postgres, database }: Servers,
  { network, logger }: { network: string; logger: Logger },
): Promise<Database> {
  const pools = createPools(postgres, { applicationName: `annals ${network}` });
  try {
    await migrate({ pools, network });
  } catch (err) {
    if (!isDamage(err) || !database) throw err;
    logger.error({ err }, 'files of the database are damaged; it is set aside and made anew from the log');
    await database.replace();
    await migrate({ pools, network });
  }
  return { pools, archive: archiveStateOf(pools, network) };
}
