import { readVolume } from '../machine/volume.ts';

/** Calls between nodes that are counted, by the real network's names. */
const handlers = [
  'Ping',
  'StoreData',
  'FindNode',
  'BatchFindNode',
  'FindValue',
  'BatchFindValues',
  'BatchGetValues',
  'BatchStoreData',
  'Replicate',
] as const;

/** What is counted of connections between nodes, by the real network's names. */
const poolKeys = [
  'adds_total',
  'capacity',
  'evictions_lru_total',
  'misses_total',
  'open_current',
  'pruned_idle_total',
  'replacements_total',
  'reuse_hits_total',
] as const;

const mib = 1024 ** 2;

/** The heavy part of a status: what has no counterpart here is 0, never invented. */
export type P2pMetrics = Awaited<ReturnType<typeof collectP2pMetrics>>;

/** Collects the diagnostics of a node's peers and store; `folder` lies on the volume that holds its data. */
export async function collectP2pMetrics(folder: string) {
  const { total, used, available } = await readVolume(folder);
  const none = { total: 0n, success: 0n, failure: 0n, timeout: 0n };
  return {
    dhtMetrics: {
      storeSuccessRecent: [],
      batchRetrieveRecent: [],
      hotPathBannedSkips: 0n,
      hotPathBanIncrements: 0n,
    },
    networkHandleMetrics: Object.fromEntries(handlers.map((name) => [name, none])),
    connPoolMetrics: Object.fromEntries(poolKeys.map((key) => [key, 0n])),
    banList: [],
    database: { p2pDbSizeMb: 0, p2pDbRecordsCount: 0n },
    disk: { allMb: Number(total) / mib, usedMb: Number(used) / mib, freeMb: Number(available) / mib },
  };
}
