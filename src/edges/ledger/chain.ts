import pLimit from 'p-limit';
import type { Refusal } from '../../commands/ledger/ante.ts';
import type { Changes, Genesis } from '../../commands/ledger/chain.ts';
import { genesisState, parseGenesis } from '../../commands/ledger/genesis.ts';
import type { SignedTransaction } from '../evm/pool/read-transaction.ts';
import type { Fact } from '../../events/catalogue.ts';
import { distance } from '../chain/sign/addresses.ts';
import { type SentTransaction, sentIn } from '../chain/sign/transaction-codec.ts';
import type { Sealed as EvmSealed } from '../evm/executor/executor.ts';
import { type Block, blockOf, type SealedTransaction, transactionOf, type Whole } from './blocks.ts';
import { carryOut, encodedBytes } from './carry-out.ts';
import { EvmChain, mayBeLost, type OpenExecution } from './evm-chain.ts';
import {
  chainHash,
  ethereumTransactions,
  receiptChanges,
  type SentAs,
  withSenderKey,
} from './ethereum-transactions.ts';
import { evmBlockOf, rawTransactions } from './evm-block.ts';
import { History } from './history.ts';
import { openingOf } from './opening.ts';
import { TransactionIndex } from './transaction-index.ts';

type Initialised = Extract<Fact, { type: 'ChainInitialised' }>;
type Sealed = Extract<Fact, { type: 'BlockSealed' }>;

/** A block as the log has it; `drafted` where it was executed here already. */
export type LoggedBlock = Readonly<{ fact: Sealed; sequence: number; drafted?: EvmSealed }>;

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
  readonly whole: Whole;
  readonly evm: EvmChain;
  readonly transactions = new TransactionIndex();
  readonly #blocks: Block[] = [];
  readonly #oneAtATime = pLimit(1);
  #expiry: Readonly<{ sequence: number; at: number | undefined }> | undefined;
  readonly #blocksAfter: ChainStores['blocksAfter'];
  /** Of the beginning, in the log. */
  readonly #first: number;
  /** In the log. */
  sequence: number;

  private constructor(fact: Initialised, sequence: number, { whole, blocksAfter }: ChainStores, evm: EvmChain) {
    this.whole = whole;
    this.#blocksAfter = blocksAfter;
    this.#first = sequence;
    this.evm = evm;
    this.chainId = fact.data.chainId;
    this.startedAt = fact.data.time;
    this.history = new History(parseGenesis(fact.data.genesis));
    this.sequence = sequence;
  }

  /** The chain at its beginning; its blocks are executed by `execution`. */
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

  get head(): Block | undefined {
    return this.#blocks.at(-1);
  }

  get height(): number {
    return this.#blocks.length;
  }

  /** Time of the last block, or of the beginning. */
  get time(): string {
    return this.head?.time ?? this.startedAt;
  }

  block(height: number): Block | undefined {
    return this.#blocks[height - 1];
  }

  /**
   * What the next block would be with these transactions; what it says is not true before it is in the log.
   *
   * The rules' transactions and the end of the block come first, those of the virtual machine after them.
   */
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
   * Takes in blocks of the log, in its order; those that it has already are passed over.
   *
   * The rules must come to what the log says; where they do not, the log was written under other rules, and that stops
   * the chain.
   */
  async apply(blocks: readonly LoggedBlock[]): Promise<void> {
    await this.#withState(async () => {
      for (const block of blocks) if (block.sequence > this.sequence) await this.#take(block);
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
    for await (const { fact, sequence } of this.#blocksAfter(this.#first)) {
      const { height, evm } = fact.data;
      const { changes } = this.#carriedOut(history, fact.data);
      if (height > stored.height && evm) header = await this.evm.restore(header, changes, evm);
      this.#applyTo(history, fact.data, changes);
      if (sequence === this.sequence) return true;
    }
    throw new Error(`The ledger stopped before it read the blocks after ${stored.height} again`);
  }

  async #take({ fact: { data }, sequence, drafted }: LoggedBlock): Promise<void> {
    const { height, evm } = data;
    if (height !== this.height + 1)
      throw new Error(`Block ${height} follows block ${this.height} in the log of the ledger`);
    if (!evm) throw new Error('The chain was begun without a virtual machine (annals reset begins anew)');
    const { pending, changes } = this.#carriedOut(this.history, data);
    if (drafted) await this.evm.commit(drafted);
    else if (!this.evm.passes(height, evm)) await this.evm.apply(changes, evm);
    this.#applyTo(this.history, data, changes);
    this.#addBlock(data, pending, sequence);
  }

  /** What the rules make of a block of the log; fails where that is not what the log says. */
  #carriedOut(history: History, { height, time, transactions }: Sealed['data']) {
    const pending = transactions.map((stored) => sentIn(stored));
    const block = { height, time, distance };
    const { executed, changes } = carryOut(history.state, { block, pending, isDraft: false });
    for (const [index, { hash, code }] of transactions.entries())
      if (executed[index]?.code !== code)
        throw new Error(
          `Transaction ${hash} of block ${height} was sealed under other rules (annals reset begins anew)`,
        );
    return { pending, changes };
  }

  #applyTo(history: History, { height, evm }: Sealed['data'], changes: readonly Changes[]): void {
    for (const one of changes) history.apply(height, one);
    for (const [index, receipt] of (evm?.receipts ?? []).entries()) {
      const changed = receiptChanges(history.state, receipt);
      history.apply(
        height,
        withSenderKey(changed, receipt, () => this.#sentAs(evm?.block ?? '', index)),
      );
    }
  }

  #sentAs(block: string, index: number): SentAs {
    const raw = rawTransactions(Buffer.from(block, 'base64'))[index] ?? new Uint8Array();
    return { raw, common: this.evm.bounds.common };
  }

  #addBlock(
    { height, time, transactions, evm }: Sealed['data'],
    pending: readonly SentTransaction[],
    sequence: number,
  ): void {
    const sealed: SealedTransaction[] = [];
    for (const [index, { code, log, events }] of transactions.entries()) {
      const sent = pending[index];
      if (!sent) continue;
      const transaction = transactionOf({ code, log, sent, height, time, sequence });
      this.transactions.add(transaction, events);
      sealed.push(transaction);
    }
    for (const { transaction, events } of evm ? ethereumTransactions(evm, { height, time, sequence }) : []) {
      this.transactions.add(transaction, events);
      sealed.push(transaction);
    }
    this.#blocks.push(blockOf(this.chainId, this.head, { height, time, transactions: sealed }));
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

/** Where a chain finds what it does not keep in memory. */
export type ChainStores = Readonly<{
  whole: Whole;
  execution: OpenExecution;
  /** Blocks after a sequence of the log, in order; ends where the ledger stops. */
  blocksAfter: (sequence: number) => AsyncIterable<LoggedBlock>;
}>;
