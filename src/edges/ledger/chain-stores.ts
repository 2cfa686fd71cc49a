import type { Fact } from '../../events/catalogue.ts';
import type { UncommittedBlock as EvmSealed } from '../evm/executor/executor.ts';
import type { SealedBlock, Complete } from './blocks/blocks.ts';
import type { OpenExecution } from './evm-chain.ts';
import type { SealedBlocks } from './blocks/sealed-blocks.ts';

type Sealed = Extract<Fact, { type: 'BlockSealed' }>;
/** The fact that attests the state after a block. */
export type Checkpointed = Extract<Fact, { type: 'StateCheckpointed' }>;

/** A block as the log has it, `drafted` where it was executed here already; or what attests the state after one. */
export type LoggedBlock =
  | Readonly<{ fact: Sealed; sequence: number; drafted?: EvmSealed }>
  | Readonly<{ fact: Checkpointed; sequence: number }>;

/** A chain at a block whose state is attested, so that a start need not read the blocks before. */
export type ChainSnapshot = Readonly<{
  height: number;
  /** Of the fact that attests the state. */
  sequence: number;
  root: string;
  head: SealedBlock;
  firstBlock: SealedBlock;
  transactionCount: number;
  /** RLP, base64. */
  header: string;
  /** As `History` writes itself. */
  history: string;
}>;

/** The stores of the chain's parts that are not in memory. */
export type ChainStores = Readonly<{
  whole: Complete;
  blocks: SealedBlocks;
  execution: OpenExecution;
  /** Blocks after a sequence of the log, in order; ends where the ledger stops. */
  blocksAfter: (sequence: number) => AsyncIterable<LoggedBlock>;
  /** The newest snapshot of the chain up to a height; undefined where there is none. */
  newestSnapshot: (height: number) => Promise<ChainSnapshot | undefined>;
}>;
