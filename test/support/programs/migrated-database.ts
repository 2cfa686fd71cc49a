import type { ClientConfig } from 'pg';
import { migrate } from '../../../src/engine/models/migrate.ts';
import { createPools } from '../../../src/engine/models/pool.ts';
import { freshDatabase, freshNetwork } from './servers.ts';

/** A database of its own that has the tables of a new network. */
export async function migratedDatabase(): Promise<Readonly<{ postgres: ClientConfig; network: string }>> {
  const [postgres, network] = [await freshDatabase(), freshNetwork()];
  const pools = createPools(postgres, { applicationName: 'test' });
  await migrate({ pools, network });
  await pools.end();
  return { postgres, network };
}
