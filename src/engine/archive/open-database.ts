import type { Logger } from '../../kit/logger.ts';
import { isDamage } from '../models/database-error.ts';
import { migrate } from '../models/migrate.ts';
import { createPools, type Pools } from '../models/pool.ts';
import type { Servers } from '../servers/servers.ts';
import { archiveStateOf } from './standing.ts';

/** A network's database: its connections, and how the archive in it stands. */
export type Database = Readonly<{
  pools: Pools;
  archive: ReturnType<typeof archiveStateOf>;
  /**
   * Does what a start needs of it; where an embedded one turns out to be damaged, it is set aside and made anew, and
   * the work done once more.
   */
  onSound: <T>(work: () => Promise<T>) => Promise<T>;
}>;

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
