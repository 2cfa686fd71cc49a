import type { Cascade } from '../cascade/cascade.ts';
import type { Ban } from '../peers/bans.ts';
import { readVolume } from '../machine/volume.ts';
import { createDiagnostics } from './diagnostics.ts';

const mib = 1024 ** 2;
const nothingCounted = createDiagnostics();

/** The files of a node as far as they are counted; undefined for a node that takes none. */
export type MeasuredCascade = Pick<Cascade, 'storage' | 'diagnostics' | 'peers'>;

/** The heavy part of a status: what has no counterpart here is 0, never invented. */
export type P2pMetrics = Awaited<ReturnType<typeof collectP2pMetrics>>;

/** Collects the diagnostics of a node's peers and files; a node that takes none shows the volume of `folder`. */
export async function collectP2pMetrics(folder: string, files: MeasuredCascade | undefined) {
  const { total, used, available } = await readVolume(files?.storage.folder ?? folder);
  const stored = files?.storage.index.counts() ?? { pieces: 0, bytes: 0 };
  const { stores, retrievals, hotPath, pool, handlers } = files?.diagnostics ?? nothingCounted;
  const { bannedSkips, banIncrements } = hotPath.all();
  return {
    dhtMetrics: {
      storeSuccessRecent: stores.latest(),
      batchRetrieveRecent: retrievals.latest(),
      hotPathBannedSkips: bannedSkips,
      hotPathBanIncrements: banIncrements,
    },
    networkHandleMetrics: handlers(),
    connPoolMetrics: { ...pool.all(), ...files?.peers.connections() },
    banList: (files?.peers.bans.all() ?? []).map(banEntry),
    database: { p2pDbSizeMb: stored.bytes / mib, p2pDbRecordsCount: BigInt(stored.pieces) },
    disk: { allMb: Number(total) / mib, usedMb: Number(used) / mib, freeMb: Number(available) / mib },
  };
}

function banEntry({ peer: { account, ip, port }, count, createdAtMs }: Ban) {
  const createdAtUnix = BigInt(Math.floor(createdAtMs / 1000));
  const ageSeconds = BigInt(Math.max(0, Math.floor((Date.now() - createdAtMs) / 1000)));
  return { id: account, ip, port, count, createdAtUnix, ageSeconds };
}
