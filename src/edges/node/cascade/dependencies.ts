import type { Copies } from '../peers/copies.ts';
import type { Storage } from '../storage/storage.ts';
import type { CascadeChain } from '../../chain/files/chain.ts';
import type { Finalizer } from './finalize.ts';
import type { Diagnostics } from '../status/diagnostics.ts';
import type { CallTurns, Tasks } from './tasks.ts';

/** The parts that the calls of CascadeService work with. */
export type CascadeDependencies = Readonly<{
  /** The node's own. */
  account: string;
  chain: CascadeChain;
  finalizer: Finalizer;
  storage: Storage;
  copies: Copies;
  tasks: Tasks;
  diagnostics: Diagnostics;
  maxFileBytes: number;
  /** Copies of a file that there should be. */
  copyCount: number;
  /** Turns of callers with each call. */
  turns: CallTurns;
}>;
