import type { Pools } from '../models/pool.ts';
import type { Loss, Standing } from './book.ts';
import { createArchiveStore } from './store.ts';

/** Tells how the archive of each stream stands, and what neither store has any more. */
export function archiveStateOf(
  pools: Pools,
  network: string,
): () => Promise<Readonly<{ standings: readonly Standing[]; losses: readonly Loss[] }>> {
  const store = createArchiveStore(pools, network);
  return async () => {
    const [standings, losses] = await Promise.all([store.standings(), store.losses()]);
    return { standings, losses };
  };
}
