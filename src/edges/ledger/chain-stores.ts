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
  /** Holds the last blocks, which its log may lose. */
  lastBlocks: LastBlocks;
  blocks: SealedBlocks;
  execution: OpenExecution;
  /** Blocks after a sequence of the log, in order; ends where the ledger stops. */
  blocksAfter: (sequence: number) => AsyncIterable<LoggedBlock>;
  /** The newest snapshot of the chain up to a height; undefined where there is none. */
  newestSnapshot: (height: number) => Promise<ChainSnapshot | undefined>;
}>;

/** What the facts may weigh together; the last ones stay whatever they weigh. */
const mostBytes = 16 * 1024 * 1024;
const leastFacts = 2;
const mostFacts = 256;

/**
 * The last facts of a chain, as they lie in its log one after another: they are acknowledged, so a log that lost its
 * end before the archive had it is given them back.
 */
export class LastBlocks {
  readonly #facts: Readonly<{ block: LoggedBlock; bytes: number }>[] = [];
  #bytes = 0;

  add(block: LoggedBlock): void {
    const before = this.#facts.at(-1)?.block.sequence;
    if (before !== undefined && block.sequence !== before + 1) this.#facts.splice((this.#bytes = 0));
    const bytes = bytesOf(block);
    const { fact, sequence } = block;
    this.#facts.push({ block: { fact, sequence } as LoggedBlock, bytes });
    this.#bytes += bytes;
    while (this.#facts.length > leastFacts && (this.#bytes > mostBytes || this.#facts.length > mostFacts))
      this.#bytes -= this.#facts.shift()?.bytes ?? 0;
  }

  /** Every fact after a sequence; undefined where older ones than these are missing. */
  after(sequence: number): readonly LoggedBlock[] | undefined {
    const match = this.#facts.map(({ block }) => block).filter((block) => block.sequence > sequence);
    return match[0]?.sequence === sequence + 1 ? match : undefined;
  }
}

const bytesOfEach = 600;

/** About as much memory as a fact takes. */
function bytesOf({ fact }: LoggedBlock): number {
  if (fact.type !== 'BlockSealed') return bytesOfEach;
  const { evm, transactions } = fact.data;
  const receipts = evm?.receipts ?? [];
  const logs = receipts.reduce((sum, one) => sum + one.logs.length, 0);
  return (evm?.block.length ?? 0) + bytesOfEach * (2 * transactions.length + receipts.length + logs + 1);
}
