import type { CascadeChain } from '../../chain/files/chain.ts';
import type { Logger } from '../../../kit/logger.ts';
import { repeat } from '../../../kit/repeat.ts';
import type { Copies } from '../peers/copies.ts';
import { createEvidence } from '../storage/evidence.ts';
import type { PieceHash } from '../storage/piece-hash.ts';
import { type Scrub, type ScrubPace, startScrub } from '../storage/scrub.ts';
import type { Storage } from '../storage/storage.ts';

/** The background work of a node. */
export type UpkeepOptions = Readonly<{
  storage: Storage;
  chain: CascadeChain;
  copies: Pick<Copies, 'repair' | 'reader'>;
  /** Interval of repairs of copies; a minute unless set. */
  repairEachMs?: number | undefined;
  /** How fast pieces are scrubbed; 4 MiB/s, once a day, unless set. */
  scrubPace?: ScrubPace | undefined;
  logger: Logger;
  signal: AbortSignal;
}>;

const sweepEachMs = 600_000;
const usualRepairEachMs = 60_000;
/** The first repair comes so soon after a start, so that the node's peers appear. */
const firstRepairMs = 3000;

/** Sweeps the store, scrubs its pieces and repairs copies again and again, until the signal aborts. */
export function startUpkeep(options: UpkeepOptions): Scrub {
  const { storage, chain, copies, repairEachMs, scrubPace: pace, logger, signal } = options;
  const evidence = createEvidence({ chain, folder: storage.folder });
  const sweep = async (): Promise<void> => await storage.sweep(await evidence.pass());
  const logged = { log: logger, signal };
  void repeat('store was not swept', sweep, { everyMs: sweepEachMs, firstMs: sweepEachMs, ...logged });
  const repairing = { everyMs: repairEachMs ?? usualRepairEachMs, firstMs: repairEachMs ?? firstRepairMs };
  void repeat('copies were not repaired', copies.repair, { ...repairing, ...logged });
  const repairPiece = async (actionId: string, hash: PieceHash): Promise<boolean> => {
    await copies.reader(actionId)(hash);
    return storage.index.isHere(hash);
  };
  return startScrub({ storage, mend: repairPiece, pace, logger, signal });
}
