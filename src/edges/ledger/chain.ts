import pLimit from 'p-limit';
import type { Refusal } from '../../commands/ledger/ante.ts';
import type { Genesis } from '../../commands/ledger/chain.ts';
import { genesisState, parseGenesis } from '../../commands/ledger/genesis.ts';
import type { SignedTransaction } from '../evm/pool/read-transaction.ts';
import type { Fact } from '../../events/catalogue.ts';
import { distance } from '../chain/sign/addresses.ts';
import type { SentTransaction } from '../chain/sign/transaction-codec.ts';
import type { UncommittedBlock as EvmSealed } from '../evm/executor/executor.ts';
import { type SealedBlock, blockOf, type SealedTransaction, type Complete } from './blocks/blocks.ts';
import { carryOut, encodedBytes } from './carry-out.ts';
import type { ChainSnapshot, ChainStores, Checkpointed, LastBlocks, LoggedBlock } from './chain-stores.ts';
import { EvmChain, mayBeLost } from './evm-chain.ts';
import { chainHash, ethereumTransactions } from './ethereum-transactions.ts';
import { evmBlockOf } from './evm-block.ts';
import { History } from './history.ts';
import { openingOf } from './opening.ts';
import { applyBlock, replayRules } from './replay.ts';
import { RecentBlocks, type SealedBlocks, type SearchPage, type SealedSearchResult } from './blocks/sealed-blocks.ts';
import type { Condition } from './blocks/transaction-index.ts';

/** Heights whose state can be read: the last ones. */
export const storedHeights = 1_000;

type Initialised = Extract<Fact, { type: 'ChainInitialised' }>;
type Sealed = Extract<Fact, { type: 'BlockSealed' }>;

/** A block that is no block of the chain before the log has it. */
export type DraftBlock = Readonly<{
  fact: Sealed;
  evm: EvmSealed;
  /** Transactions of the virtual machine that no block takes as the chain is, by hash, and why. */
  refused: ReadonlyMap<string, string>;
  /** The rules' transactions that the state before them does not carry, by hash; the block has none of them. */
  refusals: ReadonlyMap<string, Refusal>;
}>;

/** The chain: a fold of its log, and nothing else is ever shown of it. What transactions did is left in the log. */
export class Chain {
  readonly chainId: string;
  readonly startedAt: string;
  readonly history: History;
  readonly whole: Complete;
  readonly evm: EvmChain;
  readonly #blocks: SealedBlocks;
  readonly #recent: RecentBlocks;
  readonly lastBlocks: LastBlocks;
  #head: SealedBlock | undefined;
  #firstBlock: SealedBlock | undefined;
  readonly #oneAtATime = pLimit(1);
  #expiry: Readonly<{ sequence: number; at: number | undefined }> | undefined;
  readonly #blocksAfter: ChainStores['blocksAfter'];
  readonly #common = () => this.evm.bounds.common;
  readonly #newestSnapshot: ChainStores['newestSnapshot'];
  /** Sequence of the genesis in the log. */
  readonly #first: number;
  /** In the log. */
  sequence: number;
  /** Of both kinds. */
  transactionCount = 0;
  /** Is called with the chain as it is at each attested state. */
  onCheckpoint: ((snapshot: ChainSnapshot) => void) | undefined;

  private constructor(fact: Initialised, sequence: number, stores: ChainStores, evm: EvmChain) {
    const { whole, blocks, blocksAfter, newestSnapshot } = stores;
    this.whole = whole;
    this.lastBlocks = stores.lastBlocks;
    this.#blocks = blocks;
    this.#recent = new RecentBlocks(sequence);
    this.#blocksAfter = blocksAfter;
    this.#newestSnapshot = newestSnapshot;
    this.#first = sequence;
    this.evm = evm;
    this.chainId = fact.data.chainId;
    this.startedAt = fact.data.time;
    this.history = new History(parseGenesis(fact.data.genesis));
    this.sequence = sequence;
  }

  /** The chain at its genesis; its blocks are executed by `execution`. */
  static async open(fact: Initialised, sequence: number, stores: ChainStores): Promise<Chain> {
    const genesis = parseGenesis(fact.data.genesis);
    const state = genesisState(genesis);
    const accounts = genesis.accounts.flatMap(({ address }) => state.account(address) ?? []);
    const evm = await EvmChain.open({ startedAt: fact.data.time, genesis, accounts, open: stores.execution });
    return new Chain(fact, sequence, stores, evm);
  }

  get genesis(): Genesis {
    return this.history.genesis;
  }

  get head(): SealedBlock | undefined {
    return this.#head;
  }

  get height(): number {
    return this.#head?.height ?? 0;
  }

  /** The first block; undefined before it is sealed. */
  get firstBlock(): SealedBlock | undefined {
    return this.#firstBlock;
  }

  /** Time of the last block, or of the genesis. */
  get time(): string {
    return this.head?.time ?? this.startedAt;
  }

  /** A block; fails with `UNAVAILABLE` while an older one cannot be read. */
  async block(height: number): Promise<SealedBlock | undefined> {
    if (height < 1 || height > this.height) return undefined;
    return this.#recent.block(height) ?? (await this.#blocks.block(height, this.#recent));
  }

  /** A transaction (upper-case hex) of the last blocks; undefined of one that is older or in no block. */
  recentTransaction(hash: string): SealedTransaction | undefined {
    return this.#recent.transaction(hash);
  }

  /** A transaction (upper-case hex) of any block; fails with `UNAVAILABLE` while older ones cannot be read. */
  async transaction(hash: string): Promise<SealedTransaction | undefined> {
    return this.#recent.transaction(hash) ?? (await this.#blocks.transaction(hash, this.#recent));
  }

  /** A page of the transactions that meet all conditions, those of the head included. */
  async search(conditions: readonly Condition[], page: SearchPage): Promise<SealedSearchResult> {
    return await this.#blocks.search(conditions, page, this);
  }

  /** The next block with these transactions; its contents are not true before it is in the log. */
  async draftBlock(
    pending: readonly SentTransaction[],
    transactions: readonly SignedTransaction[],
    time: string,
  ): Promise<DraftBlock> {
    return await this.#withState(async () => {
      const block = { height: this.height + 1, time, distance };
      const rules = carryOut(this.history.state, { block, pending, isDraft: true });
      const { logged: sealed, refusals, ended, changes } = rules;
      const endBlockEvents = [...ended.events];
      const opening = openingOf(changes);
      const evm = await this.evm.draft(time, {
        changes,
        transactions: transactions.map(({ raw }) => raw),
        bytes: encodedBytes([sealed, endBlockEvents, opening ?? null]),
      });
      const outcomes = evm.outcomes.slice(changes.length);
      const refused = outcomes.flatMap((outcome, index): [string, string][] => {
        const hash = transactions[index]?.hash;
        return outcome.kind === 'refused' && hash !== undefined ? [[hash, outcome.reason]] : [];
      });
      const facts = { chain: 'chain', height: block.height, time, transactions: sealed, endBlockEvents };
      const ethereum = evmBlockOf(evm, outcomes, opening);
      const all = [...sealed, ...ethereum.receipts.map((receipt) => ({ hash: chainHash(receipt.hash) }))];
      const { hash, previousHash } = blockOf(this.chainId, this.head, {
        height: block.height,
        time,
        transactions: all,
      });
      const hashes = { hash, ...(previousHash === null ? {} : { previousHash }) };
      return {
        fact: { type: 'BlockSealed', data: { ...facts, evm: ethereum, ...hashes } },
        evm,
        refused: new Map(refused),
        refusals,
      };
    });
  }

  /**
   * Applies blocks of the log, in its order; blocks that it has already are skipped.
   *
   * The rules must produce what the log holds; where they do not, the log was written under other rules, and that stops
   * the chain.
   */
  async apply(blocks: readonly LoggedBlock[]): Promise<void> {
    await this.#withState(async () => {
      for (const block of blocks) {
        if (block.sequence <= this.sequence) continue;
        await this.#take(block);
        this.lastBlocks.add(block);
      }
    });
  }

  /** Works on the stored state, one at a time; once more where the store has lost blocks that it had. */
  async #withState<T>(work: () => Promise<T>): Promise<T> {
    return await this.#oneAtATime(async () => {
      try {
        return await work();
      } catch (caught) {
        if (!mayBeLost(caught) || !(await this.#restoreState())) throw caught;
        return await work();
      }
    });
  }

  /** Executes the blocks again whose state the store has lost; whether there were any. */
  async #restoreState(): Promise<boolean> {
    const stored = await this.evm.lostAfter(this.height);
    if (!stored) return false;
    const history = new History(this.genesis);
    let { header } = stored;
    const snapshot = await this.#newestSnapshot(stored.height);
    if (snapshot) history.restore(snapshot.history);
    for await (const { fact, sequence } of this.#blocksAfter(snapshot?.sequence ?? this.#first)) {
      if (sequence === this.sequence && fact.type === 'StateCheckpointed') return true;
      if (fact.type === 'StateCheckpointed') continue;
      const { height, evm } = fact.data;
      const changes = replayRules(history, fact.data);
      if (height > stored.height && evm) header = await this.evm.restore(header, changes, evm);
      applyBlock(history, fact.data, { changes, common: this.#common });
      if (sequence === this.sequence) return true;
    }
    throw new Error(`The ledger stopped before it read the blocks after ${stored.height} again`);
  }

  async #take(block: LoggedBlock): Promise<void> {
    const { fact, sequence } = block;
    if (fact.type === 'StateCheckpointed') return this.#checkpoint(fact.data, sequence);
    const { data } = fact;
    const drafted = 'drafted' in block ? block.drafted : undefined;
    const { height, evm } = data;
    if (height !== this.height + 1)
      throw new Error(`Block ${height} follows block ${this.height} in the log of the ledger`);
    if (!evm) throw new Error('The chain was begun without a virtual machine (annals reset begins anew)');
    const changes = replayRules(this.history, data);
    if (drafted) await this.evm.commit(drafted);
    else if (!this.evm.passes(height, evm)) await this.evm.apply(changes, evm);
    applyBlock(this.history, data, { changes, common: this.#common });
    this.#addBlock(data, sequence);
  }

  /** Deletes what is older than the retained heights, and has the rest stored. */
  #checkpoint({ height, root }: Checkpointed['data'], sequence: number): void {
    if (height !== this.height)
      throw new Error(`The state of block ${height} is attested after block ${this.height} in the log of the ledger`);
    this.sequence = sequence;
    this.history.forgetBefore(this.lowestHeight);
    const { head, firstBlock, transactionCount } = this;
    if (!head || !firstBlock) return;
    const kept = { height, sequence, root, head, firstBlock, transactionCount };
    const header = Buffer.from(this.evm.header).toString('base64');
    this.onCheckpoint?.({ ...kept, header, history: this.history.text() });
  }

  /** The lowest height whose state can be read. */
  get lowestHeight(): number {
    return Math.max(0, this.height - storedHeights + 1);
  }

  /** Starts from a snapshot of this chain where the state of the virtual machine is stored as far; whether it is. */
  startFrom({ height, sequence, head, firstBlock, transactionCount, header, history }: ChainSnapshot): boolean {
    if (this.height > 0 || !this.evm.startFrom(height, Buffer.from(header, 'base64'))) return false;
    this.history.restore(history);
    this.#head = head;
    this.#firstBlock = firstBlock;
    this.transactionCount = transactionCount;
    this.sequence = sequence;
    this.#recent.sequence = sequence;
    return true;
  }

  #addBlock({ height, time, transactions, evm }: Sealed['data'], sequence: number): void {
    const of = { height, time, sequence };
    const own = transactions.map(({ hash, code, log, events }) => ({
      transaction: { hash, code, log, ...of },
      events,
    }));
    const all = [...own, ...(evm ? ethereumTransactions(evm, of) : [])];
    const sealed = all.map(({ transaction }) => transaction);
    const block = blockOf(this.chainId, this.#head, { height, time, transactions: sealed });
    this.#blocks.add(
      block,
      all.map(({ events }) => events),
    );
    this.#recent.add(block, sequence);
    this.#head = block;
    this.#firstBlock ??= block;
    this.transactionCount += all.length;
    this.sequence = sequence;
  }

  /** When the next action expires (unix milliseconds); undefined when none is open. */
  nextExpiry(): number | undefined {
    if (this.#expiry?.sequence !== this.sequence) {
      let at: number | undefined;
      for (const { expirationTime } of this.history.state.openActions())
        if (at === undefined || expirationTime * 1000 < at) at = expirationTime * 1000;
      this.#expiry = { sequence: this.sequence, at };
    }
    return this.#expiry.at;
  }
}
