import type { ArchiveState } from '../../engine/archive/observed.ts';
import type { Heads } from '../../engine/log/head.ts';
import type { LagTracker } from '../../engine/log/lag.ts';
import type { Leases } from '../../engine/log/leases.ts';
import type { Generation } from '../../engine/models/engine/generations.ts';
import type { RoundRow } from '../../projections/tables.ts';
import type { NodeSource } from './local-nodes.ts';
import type { ProofSource } from './proofs.ts';
import type { TailSource } from './tail.ts';
import type { SignedLogs } from './views.ts';

/** What the administration shows. */
export type AdminState = Readonly<{
  generations: () => Promise<readonly Generation[]>;
  heads: () => Promise<Heads>;
  lag: Pick<LagTracker, 'lagMs'>;
  rounds: () => Promise<readonly RoundRow[]>;
  archive: () => Promise<ArchiveState>;
  logs: () => Promise<SignedLogs>;
  leases: Pick<Leases, 'list'>;
  proven: ProofSource;
  nodes: NodeSource;
  tail: TailSource;
}>;
