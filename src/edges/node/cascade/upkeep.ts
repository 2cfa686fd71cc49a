import type { CascadeChain } from '../../cascade/chain.ts';
import type { Logger } from '../../kit/logger.ts';
import { nowAndThen } from '../../kit/now-and-then.ts';
import type { Copies } from '../peers/copies.ts';
import { createEvidence } from '../storage/evidence.ts';
import type { Storage } from '../storage/storage.ts';

/** What a node looks after behind its answers. */
export type UpkeepOptions = Readonly<{
  storage: Storage;
  chain: CascadeChain;
  copies: Pick<Copies, 'repair'>;
  /** How often copies are looked after; a minute unless set. */
  repairEachMs?: number | undefined;
  logger: Logger;
  signal: AbortSignal;
}>;

const sweepEachMs = 600_000;
const usualRepairEachMs = 60_000;
/** Others are looked for so soon after a start, so that its peers show. */
const firstRepairMs = 3000;

/** Sweeps the store and repairs copies again and again, until the signal aborts. */
export function startUpkeep({ storage, chain, copies, repairEachMs, logger, signal }: UpkeepOptions): void {
  const evidence = createEvidence({ chain, folder: storage.folder });
  const sweep = async (): Promise<void> => await storage.sweep(await evidence.pass());
  void nowAndThen('store was not swept', sweepEachMs, sweep, { logger, signal });
  const repairing = { logger, signal, firstMs: repairEachMs ?? firstRepairMs };
  void nowAndThen('copies were not repaired', repairEachMs ?? usualRepairEachMs, copies.repair, repairing);
}
