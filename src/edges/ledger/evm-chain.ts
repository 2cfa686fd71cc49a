import { passes, toAppError } from '../../kit/errors.ts';
import type { BlockHeader } from '@ethereumjs/block';
import type { Account, Changes, Genesis } from '../../commands/ledger/chain.ts';
import type { Fact } from '../../events/catalogue.ts';
import { headerIn, rawTransactions } from './evm-block.ts';
import { itemOf } from './opening.ts';
import { evmAddress } from '../chain/sign/addresses.ts';
import { networkFees, nextBaseFee } from '../evm/executor/base-fee.ts';
import { readHeader } from '../evm/executor/blocks.ts';
import type { UncommittedBlock } from '../evm/executor/executor.ts';
import { createForks, type Forks } from '../evm/executor/forks.ts';
import { type ChainConfig, type GenesisAccounts, networkChain } from '../evm/executor/state/genesis.ts';
import type { StoredHeader } from '../evm/executor/state/node-store.ts';
import type { Hex } from '../evm/executor/outcome.ts';
import type { Attributes, Item } from '../evm/executor/sealing.ts';
import type { TransactionBounds } from '../evm/pool/read-transaction.ts';
import type { Execution } from '../evm/workers/execution.ts';

type Opened = Readonly<{ first: Promise<Uint8Array>; forks: Forks; stored: StoredHeader | undefined; coinbase: Hex }>;

/** The virtual machine's id of every local network: that of the real network's test chain. */
export const localEvmChainId = 76_857_769;

type EvmBlock = NonNullable<Fact<'BlockSealed'>['data']['evm']>;

/** What executes blocks, and knows how far their state is stored. */
export type EvmExecution = Pick<Execution, 'head' | 'genesis' | 'seal' | 'apply' | 'forget'>;

/** What executes the blocks of a chain, by its configuration. */
export type OpenExecution = (config: ChainConfig) => EvmExecution;

type Beginning = Readonly<{
  startedAt: string;
  genesis: Genesis;
  accounts: Iterable<Pick<Account, 'address' | 'balance'>>;
  open: OpenExecution;
}>;

/** Bytes of a block's fact: the broker takes messages of 8 MB. What else the fact holds has room beside them. */
const mostFactBytes = 6_000_000;
const headerBytes = 16_384;
/** Hostile transactions hold the chain for the sum of both at most. */
const limits = { blockMs: 1_000, transactionMs: 2_000 } as const;

/** The parts of a block's draft. */
type Parts = Readonly<{
  /** Of the rules' transactions and of the end of the block. */
  changes: readonly Changes[];
  /** Of the virtual machine, as they were sent. */
  transactions: readonly Uint8Array[];
  /** Bytes that the fact of the block has already. */
  bytes: number;
}>;

/**
 * The virtual machine's side of the local chain: the same blocks, with its state below them.
 *
 * Mutable: the head moves with each block that is committed. One caller at a time.
 */
export class EvmChain {
  readonly config: ChainConfig;
  readonly #forks: Forks;
  readonly #execution: EvmExecution;
  readonly #stored: StoredHeader | undefined;
  readonly #coinbase: Hex;
  /**
   * Settles once the first block is stored, or is known to be stored: the chain can be used from then on. Fails with
   * `CONFLICT` where the state is another chain's.
   */
  readonly begun: Promise<void>;
  /** Returns the header of the head: decoded from its block on demand, and never from all the blocks before. */
  #head: (() => Uint8Array) | undefined;

  private constructor(config: ChainConfig, execution: EvmExecution, input: Opened) {
    this.config = config;
    this.#forks = input.forks;
    this.#execution = execution;
    this.#stored = input.stored;
    this.#coinbase = input.coinbase;
    this.begun = this.#beginWith(input.first);
    // The caller that opens the chain awaits it in the end, and receives its failure then.
    this.begun.catch(() => undefined);
  }

  /**
   * Opens the chain at its genesis, whose state it stores where it is missing, while it can apply blocks whose state is
   * stored already.
   */
  static async open({ startedAt, genesis, accounts, open }: Beginning): Promise<EvmChain> {
    const config = localEvmConfig(startedAt, genesis, accounts);
    const execution = open(config);
    const stored = await execution.head();
    const start = async (): Promise<Uint8Array> => {
      const first = await execution.genesis();
      await first.commit();
      return first.header;
    };
    const coinbase = evmAddress(genesis.modules.feeCollector) ?? `0x${'00'.repeat(20)}`;
    return new EvmChain(config, execution, { first: start(), forks: createForks(config), stored, coinbase });
  }

  async #beginWith(first: Promise<Uint8Array>): Promise<void> {
    const header = await first;
    this.#head ??= () => header;
  }

  get #header(): Uint8Array {
    if (!this.#head) throw new Error('The chain of the virtual machine has not begun');
    return this.#head();
  }

  /** Rules of the block after the head, and the least fee, for reading transactions. */
  get bounds(): TransactionBounds {
    const { number, timestamp } = readHeader(this.#header, this.#forks);
    const common = this.#forks.at({ number: number + 1n, timestamp });
    return { common, chainId: BigInt(localEvmChainId), feeFloor: networkFees.floor };
  }

  /** The base fee and the gas limit of the block after the head. */
  get next(): Readonly<{ baseFee: bigint; gasLimit: bigint }> {
    return nextBlock(readHeader(this.#header, this.#forks));
  }

  /** Executes what the rules changed, then transactions, into the block after the head; `commit` makes it the head. */
  async draft(time: string, { changes, transactions, bytes }: Parts): Promise<UncommittedBlock> {
    const raw = transactions.map((one): Item => ({ kind: 'transaction', raw: one }));
    await this.begun;
    const attributes = { ...this.#attributes(time), limits: { ...limits, bytes: mostFactBytes - headerBytes - bytes } };
    return await this.#execution.seal(this.#header, attributes, [...changes.map(itemOf), ...raw]);
  }

  /** Makes a drafted block the head, its state stored. */
  async commit(sealed: UncommittedBlock): Promise<void> {
    await sealed.commit();
    this.#head = () => sealed.header;
  }

  /** RLP of the header of the head. */
  get header(): Uint8Array {
    return this.#header;
  }

  /** Starts from a block (RLP of its header) whose state is stored; whether it is. */
  startFrom(height: number, header: Uint8Array): boolean {
    if (!this.#stored || height > this.#stored.number) return false;
    this.#head = () => header;
    return true;
  }

  /** Returns true, and moves the head, if the block's state is already stored. */
  passes(height: number, { hash, block }: EvmBlock): boolean {
    if (!this.#stored || height > this.#stored.number) return false;
    if (BigInt(height) === this.#stored.number && hash !== this.#stored.hash)
      throw new Error(`The stored state of the virtual machine is another chain's at block ${height}`);
    this.#head = () => headerIn(Buffer.from(block, 'base64'));
    return true;
  }

  /** Applies a block of the log by executing it again. */
  async apply(changes: readonly Changes[], block: EvmBlock): Promise<void> {
    await this.begun;
    const header = await this.restore(this.#header, changes, block);
    this.#head = () => header;
  }

  /**
   * How far the state is stored where that is before a height that was stored once; undefined where it is not.
   *
   * PostgreSQL may come back without its last blocks. What the executor remembers of the store is dropped then.
   */
  async lostAfter(height: number): Promise<Readonly<{ height: number; header: Uint8Array }> | undefined> {
    const stored = await this.#execution.head();
    if (stored && stored.number >= height) return undefined;
    await this.#execution.forget();
    if (stored) return { height: Number(stored.number), header: stored.rlp };
    const first = await this.#execution.genesis();
    await first.commit();
    return { height: 0, header: first.header };
  }

  /** Executes a block of the log on top of another (RLP of its header), stores its state and returns its header. */
  async restore(parent: Uint8Array, changes: readonly Changes[], { block }: EvmBlock): Promise<Uint8Array> {
    const bytes = Buffer.from(block, 'base64');
    const raw = rawTransactions(bytes).map((one): Item => ({ kind: 'transaction', raw: one }));
    const items = [...changes.map(itemOf), ...raw];
    const sealed = await this.#execution.apply(parent, { block: bytes, items });
    await sealed.commit();
    return sealed.header;
  }

  #attributes(time: string): Attributes {
    const parent = readHeader(this.#header, this.#forks);
    const { baseFee, gasLimit } = nextBlock(parent);
    const timestamp = timestampAfter(parent.timestamp, time);
    return { timestamp, baseFee, gasLimit, coinbase: this.#coinbase };
  }
}

/** Returns whether a failure may come of a store that has lost blocks which it had. */
export function mayBeLost(caught: unknown): boolean {
  return passes(caught) || toAppError(caught).code === 'CONFLICT';
}

function nextBlock(parent: BlockHeader): Readonly<{ baseFee: bigint; gasLimit: bigint }> {
  return { baseFee: nextBaseFee(parent, networkFees), gasLimit: parent.gasLimit };
}

/** Seconds of a block's time, and later than its parent's: no Ethereum client takes a header that does not grow. */
export function timestampAfter(parent: bigint, time: string): bigint {
  const seconds = BigInt(Math.floor(Date.parse(time) / 1000));
  return seconds > parent ? seconds : parent + 1n;
}

/** The local chain of a genesis; forks and fees follow from it, the accounts matter only for the first state. */
export function localEvmConfig(
  startedAt: string,
  genesis: Genesis,
  accounts: Iterable<Pick<Account, 'address' | 'balance'>> = [],
): ChainConfig {
  const alloc: GenesisAccounts = Object.fromEntries(
    [...accounts].flatMap(({ address, balance }) => {
      const evm = evmAddress(address);
      return evm === undefined || balance === 0n ? [] : [[evm, { balance: `0x${balance.toString(16)}` }]];
    }),
  );
  const seconds = Math.floor(Date.parse(startedAt) / 1000);
  return networkChain({ chainId: localEvmChainId, seconds, accounts: alloc, ledger: { ...genesis, accounts: [] } });
}
