import type { Cascade } from '../cascade/cascade.ts';
import type { Ban } from '../peers/bans.ts';
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

/** The files of a node as far as they are counted; undefined for a node that takes none. */
export type StoredFiles = Pick<Cascade, 'storage' | 'retrievals' | 'peers'>;

/** The heavy part of a status: what has no counterpart here is 0, never invented. */
export type P2pMetrics = Awaited<ReturnType<typeof collectP2pMetrics>>;

/** Collects the diagnostics of a node's peers and files; `folder` lies on the volume that holds its data. */
export async function collectP2pMetrics(folder: string, files: StoredFiles | undefined) {
  const { total, used, available } = await readVolume(folder);
  const stored = await countPieces(files);
  const none = { total: 0n, success: 0n, failure: 0n, timeout: 0n };
  return {
    dhtMetrics: {
      storeSuccessRecent: [],
      batchRetrieveRecent: files?.retrievals.latest() ?? [],
      hotPathBannedSkips: 0n,
      hotPathBanIncrements: 0n,
    },
    networkHandleMetrics: Object.fromEntries(handlers.map((name) => [name, none])),
    connPoolMetrics: Object.fromEntries(poolKeys.map((key) => [key, 0n])),
    banList: (files?.peers.bans.all() ?? []).map(banEntry),
    database: { p2pDbSizeMb: stored.bytes / mib, p2pDbRecordsCount: BigInt(stored.pieces) },
    disk: { allMb: Number(total) / mib, usedMb: Number(used) / mib, freeMb: Number(available) / mib },
  };
}

async function countPieces(files: StoredFiles | undefined): Promise<{ pieces: number; bytes: number }> {
  const stored = { pieces: 0, bytes: 0 };
  if (!files) return stored;
  for await (const { bytes } of files.storage.pieces.all()) {
    stored.pieces += 1;
    stored.bytes += bytes;
  }
  return stored;
}

function banEntry({ peer: { account, ip, port }, count, createdAtMs }: Ban) {
  const createdAtUnix = BigInt(Math.floor(createdAtMs / 1000));
  const ageSeconds = BigInt(Math.max(0, Math.floor((Date.now() - createdAtMs) / 1000)));
  return { id: account, ip, port, count, createdAtUnix, ageSeconds };
}
