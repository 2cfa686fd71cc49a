import { type ChainState, type Genesis, withChanges } from '../../commands/ledger/chain.ts';
import { endBlock, execute } from '../../commands/ledger/execute.ts';
import { parseGenesis } from '../../commands/ledger/genesis.ts';
import type { Fact } from '../../events/catalogue.ts';
import { distance } from '../cosmos/addresses.ts';
import { type Block, blockOf, type SealedTransaction, transactionOf, type Whole } from './blocks.ts';
import { type SentTransaction, sentIn } from '../cosmos/transaction-codec.ts';
import { History } from './history.ts';
import { TransactionIndex } from './transaction-index.ts';

type Initialised = Extract<Fact, { type: 'ChainInitialised' }>;
type Sealed = Extract<Fact, { type: 'BlockSealed' }>;

/** The chain: a fold of its log, and nothing else is ever shown of it. What transactions did is left in the log. */
export class Chain {
  readonly chainId: string;
  readonly startedAt: string;
  readonly history: History;
  readonly whole: Whole;
  readonly transactions = new TransactionIndex();
  readonly #blocks: Block[] = [];
  /** In the log. */
  sequence: number;

  constructor(fact: Initialised, sequence: number, whole: Whole) {
    this.whole = whole;
    this.chainId = fact.data.chainId;
    this.startedAt = fact.data.time;
    this.history = new History(parseGenesis(fact.data.genesis));
    this.sequence = sequence;
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

  /** What the next block would be with these transactions; what it says is not true before it is in the log. */
  draftBlock(pending: readonly SentTransaction[], time: string): Sealed {
    const block = { height: this.height + 1, time, distance };
    let state: ChainState = this.history.state;
    const transactions = pending.map(({ hash, bytes, transaction }) => {
      const { changes, events, code, log } = execute(state, transaction, block);
      state = withChanges(state, changes);
      return { hash, code, log, events, messages: [], raw: Buffer.from(bytes).toString('base64') };
    });
    const { events } = endBlock(state, block);
    return {
      type: 'BlockSealed',
      data: { chain: 'chain', height: block.height, time, transactions, endBlockEvents: events },
    };
  }

  /**
   * Takes in a block of the log; one that it has already is passed over.
   *
   * The rules must come to what the log says; where they do not, the log was written under other rules, and that stops
   * the chain.
   */
  apply(fact: Sealed, sequence: number): void {
    if (sequence <= this.sequence) return;
    const { height, time } = fact.data;
    if (height !== this.height + 1)
      throw new Error(`Block ${height} follows block ${this.height} in the log of the ledger`);
    const block = { height, time, distance };
    const sealed: SealedTransaction[] = [];
    for (const stored of fact.data.transactions) {
      const { hash, code, log, events } = stored;
      const sent = sentIn(stored);
      const executed = execute(this.history.state, sent.transaction, block);
      if (executed.code !== code)
        throw new Error(
          `Transaction ${hash} of block ${height} was sealed under other rules (annals reset begins anew)`,
        );
      this.history.apply(height, executed.changes);
      const transaction = transactionOf({ code, log, sent, height, time, sequence });
      this.transactions.add(transaction, events);
      sealed.push(transaction);
    }
    this.history.apply(height, endBlock(this.history.state, block).changes);
    const added = blockOf(this.chainId, this.head, { height, time, transactions: sealed });
    this.#blocks.push(added);
    this.sequence = sequence;
  }

  /** When the next action expires (unix milliseconds); undefined when none is open. */
  nextExpiry(): number | undefined {
    const times = [...this.history.state.openActions()].map((action) => action.expirationTime * 1000);
    return times.length === 0 ? undefined : Math.min(...times);
  }
}
