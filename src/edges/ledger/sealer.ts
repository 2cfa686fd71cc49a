import { AppError, type ErrorCode, toAppError } from '../../commands/errors.ts';
import type { Refusal } from '../../commands/ledger/ante.ts';
import type { SignedTransaction } from '../evm/pool/read-transaction.ts';
import { type NonceOf, WaitingTransactions } from '../evm/pool/waiting.ts';
import type { Logger } from '../kit/logger.ts';
import { type Cadence, onDemand } from './cadence.ts';
import type { Chain, DraftBlock } from './chain.ts';
import { checkTransaction } from './check-transaction.ts';
import type { SentTransaction } from '../cosmos/transaction-codec.ts';
import { accountOfEvm } from '../cosmos/addresses.ts';
import { HeadAge, leadOf } from './head-age.ts';
import { fullPool, type Receipt, refusedError, tooLarge } from './receipt.ts';
import { catchUp, type LedgerLog } from './log-fold.ts';

/** What became of a transaction that was sent: refused at once, or waiting for its block. */
export type Submitted = Readonly<{ refusal: Refusal } | { sealed: Promise<Receipt> }>;

type Waiting = Readonly<{
  sent: SentTransaction;
  /** Unix milliseconds; undefined means as soon as possible. */
  at: number | undefined;
  settled: PromiseWithResolvers<Receipt>;
}>;

/** What one block is to hold: the rules' transactions, and those of the virtual machine. */
type BlockPart = Readonly<{ batch: readonly Waiting[]; ready: readonly SignedTransaction[] }>;

/** What goes by: a log out of reach, and another process that seals. */
const passing: ReadonlySet<ErrorCode> = new Set(['UNAVAILABLE', 'CONFLICT', 'DEADLINE']);
const retryMs = 1000;
/** Text of the transactions of one block; a message of the broker takes more, so that what they do fits as well. */
const mostBlockBytes = 512 * 1024;
/** Transactions that wait at most; then the chain's code for a full pool. */
const mostWaiting = 5000;
/** Timers cannot be longer than 2^31 ms; the loop looks again anyway. */
const longestWaitMs = 3_600_000;

/** Seals blocks: one when transactions wait, one when an action's time has come, none otherwise. */
export class Sealer {
  readonly #chain: Chain;
  readonly #log: LedgerLog;
  readonly #logger: Logger;
  /** Transactions of the virtual machine that wait. */
  readonly waiting = new WaitingTransactions();
  #queue: Waiting[] = [];
  #wake: () => void = () => undefined;
  #cadence = onDemand;
  readonly #headAge = new HeadAge();
  #obstacle: string | undefined;
  #isAhead = false;

  constructor(chain: Chain, log: LedgerLog, logger: Logger) {
    this.#chain = chain;
    this.#log = log;
    this.#logger = logger;
  }

  /** From now on blocks follow one another as a cadence has it; transactions with a time of their own keep that. */
  keep(cadence: Cadence): void {
    this.#cadence = cadence;
    cadence.onChange(() => this.#wake());
    this.#wake();
  }

  /** What keeps blocks from being sealed as they should be, in sentences. */
  obstacles(): readonly string[] {
    const leadMs = leadOf(this.#chain);
    return [
      ...(this.#obstacle === undefined ? [] : [`No block can be sealed: ${this.#obstacle}`]),
      ...(leadMs === undefined
        ? []
        : [
            `The last block is ${Math.round(leadMs / 1000)} s ahead of this machine's clock; blocks go on from its time.`,
          ]),
    ];
  }

  /** Takes a transaction in, or says why not; one that waits already is given its place again. */
  submit(sent: SentTransaction, at?: number): Submitted {
    const known = this.#queue.find((waiting) => waiting.sent.hash === sent.hash);
    if (known) return { sealed: known.settled.promise };
    const before = this.#chain.transactions.byHash(sent.hash);
    if (before) return { sealed: Promise.resolve({ hash: before.hash, height: before.height, code: before.code }) };
    const refusal = this.#queue.length >= mostWaiting ? fullPool : this.check(sent);
    if (refusal !== undefined) return { refusal };
    const settled = Promise.withResolvers<Receipt>();
    settled.promise.catch(() => undefined);
    this.#queue.push({ sent, at, settled });
    this.#wake();
    return { sealed: settled.promise };
  }

  /** Settles with the block of a transaction; fails with `INVALID_ARGUMENT` where the chain refuses it. */
  async receiptOf(sent: SentTransaction, at?: number): Promise<Receipt> {
    const submitted = this.submit(sent, at);
    if ('refusal' in submitted) throw refusedError(submitted.refusal);
    return await submitted.sealed;
  }

  /** Why a transaction would not be taken in after those that wait; undefined when it would. */
  check(sent: SentTransaction): Refusal | undefined {
    return this.#check(sent, this.#ahead(sent.transaction.signer));
  }

  /** How many transactions of a signer wait; one that the chain has already may still stand in the queue. */
  #ahead(signer: string): number {
    const ofSigner = this.#queue.filter(({ sent }) => sent.transaction.signer === signer);
    return ofSigner.filter(({ sent }) => this.#chain.transactions.byHash(sent.hash) === undefined).length;
  }

  /**
   * The sequence that the next transaction of an account takes, and the account's number; undefined where there is
   * none.
   */
  signerInfo(address: string): Readonly<{ number: number; sequence: number }> | undefined {
    const account = this.#chain.history.account(address);
    return account && { number: account.number, sequence: account.sequence + this.#ahead(address) };
  }

  #check(sent: SentTransaction, ahead: number): Refusal | undefined {
    const { height, history, chainId } = this.#chain;
    return checkTransaction(sent, { state: history.state, chainId, height: height + 1, ahead });
  }

  /** Refuses what still waits. */
  close(): void {
    const closed = new AppError('UNAVAILABLE', 'The ledger stops; the transaction was not sealed');
    for (const { settled } of this.#queue.splice(0)) settled.reject(closed);
  }

  /** Seals until the signal aborts; a failure of any kind is logged and tried again, and shows in `obstacles`. */
  async run(signal: AbortSignal): Promise<void> {
    const stop = (): void => this.#wake();
    signal.addEventListener('abort', stop);
    while (!signal.aborted) {
      try {
        await this.#step(signal);
        this.#obstacle = undefined;
      } catch (caught) {
        if (signal.aborted) break;
        const err = toAppError(caught);
        this.#logger[passing.has(err.code) ? 'warn' : 'error']({ err }, 'ledger could not seal; trying again');
        this.#obstacle = err.message;
        await this.#sleep(retryMs);
      }
    }
    signal.removeEventListener('abort', stop);
  }

  async #step(signal: AbortSignal): Promise<void> {
    this.#settle();
    this.#reportLead();
    const next = this.#queue[0];
    const now = next?.at ?? Date.now();
    const isTimed = next?.at !== undefined;
    const last = isTimed ? Date.parse(this.#chain.time) : now - this.#headAge.of(this.#chain);
    const { leastMs, emptyMs } = this.#cadence;
    const earliest = isTimed ? 0 : last + leastMs;
    const due = Math.max(this.#chain.nextExpiry() ?? Infinity, earliest);
    const emptyAt = last + (emptyMs() ?? Infinity);
    const isWanted = next !== undefined || this.#ready().length > 0;
    if (due <= now) return await this.#seal(emptyBlock, due, signal);
    if (isWanted && earliest <= now) return await this.#seal(this.#part(next), now, signal);
    if (emptyAt <= now) return await this.#seal(emptyBlock, now, signal);
    await this.#sleep(Math.min(due, emptyAt, isWanted ? earliest : Infinity) - now);
  }

  /** Logs once that the head is ahead of the clock. */
  #reportLead(): void {
    const leadMs = leadOf(this.#chain);
    if (leadMs !== undefined && !this.#isAhead)
      this.#logger.warn({ leadMs }, 'the last block is ahead of this clock; blocks go on from its time');
    this.#isAhead = leadMs !== undefined;
  }

  /** What the next block is to hold; a transaction with a time of its own has a block to itself. */
  #part(next: Waiting | undefined): BlockPart {
    const batch = next ? this.#batch(next) : [];
    return { batch, ready: next?.at === undefined ? this.#ready() : [] };
  }

  /** Transactions of the virtual machine that the next block takes. */
  #ready(): SignedTransaction[] {
    return this.waiting.ready({ ...this.#chain.evm.next, nonceOf: this.#nonceOf });
  }

  readonly #nonceOf: NonceOf = (address) => BigInt(this.#chain.history.account(accountOfEvm(address))?.sequence ?? 0);

  /** Takes a transaction of the virtual machine in that the log has; one that no block can take is passed over. */
  take(transaction: SignedTransaction): void {
    const { evm, history } = this.#chain;
    const balance = history.account(accountOfEvm(transaction.sender))?.balance ?? 0n;
    const account = { nonce: this.#nonceOf(transaction.sender), balance };
    if (this.waiting.admit(transaction, { account, ...evm.bounds }) === undefined) this.#wake();
  }

  /**
   * Transactions of one block: those that want no time of their own go together, as many as fit one message of the
   * broker.
   */
  #batch(first: Waiting): readonly Waiting[] {
    if (first.at !== undefined) return [first];
    const batch: Waiting[] = [];
    let bytes = 0;
    for (const waiting of this.#queue.slice(0, this.#chain.genesis.params.maxActionsPerBlock)) {
      bytes += waiting.sent.bytes.length;
      if (waiting.at !== undefined || (batch.length > 0 && bytes > mostBlockBytes)) break;
      batch.push(waiting);
    }
    return batch;
  }

  /** Seals one block of what is given; less of it where the whole cannot be a block. */
  async #seal(part: BlockPart, wanted: number, signal: AbortSignal): Promise<void> {
    const chain = this.#chain;
    const leastMs = leadOf(chain) === undefined ? 1 : 1000;
    const time = new Date(Math.max(wanted, Date.parse(chain.time) + leastMs)).toISOString();
    const draft = await this.#draft(part, time);
    if (draft === undefined) return await this.#sealLess(part, wanted, signal);
    const { fact, evm } = draft;
    this.#drop(draft);
    const isEmpty = fact.data.transactions.length === 0 && fact.data.evm?.receipts.length === 0;
    if (isEmpty && draft.refused.size + draft.refusals.size > 0) return;
    const decision = { kind: 'ledger', entity: 'chain', facts: [fact], expected: chain.sequence } as const;
    try {
      const { sequence } = await this.#log.append([decision], { at: time });
      await chain.apply([{ fact, sequence, drafted: evm }]);
      this.waiting.settle(this.#nonceOf, Date.now());
    } catch (caught) {
      if (toAppError(caught).code === 'INVALID_ARGUMENT' && part.batch.length + part.ready.length > 0)
        return await this.#sealLess(part, wanted, signal);
      // Whether the block is stored is unknown, or somebody else sealed one: the log tells.
      await catchUp(chain, this.#log, signal);
      if (chain.sequence === decision.expected) throw caught;
    }
  }

  /** Drafts a block; undefined where something in it fails in a way that no waiting cures. */
  async #draft({ batch, ready }: BlockPart, time: string): Promise<DraftBlock | undefined> {
    const sent = batch.map((waiting) => waiting.sent);
    try {
      return await this.#chain.draftBlock(sent, ready, time);
    } catch (caught) {
      const err = toAppError(caught);
      if (passing.has(err.code) || batch.length + ready.length === 0) throw err;
      this.#logger.error({ err, transactions: batch.length + ready.length }, 'ledger could not draft a block');
      return undefined;
    }
  }

  /** Drops what a draft refused, and answers those that wait for it. */
  #drop({ refused, refusals }: Pick<DraftBlock, 'refused' | 'refusals'>): void {
    for (const hash of refused.keys()) this.waiting.remove(hash);
    this.#queue = this.#queue.filter(({ sent, settled }) => {
      const refusal = refusals.get(sent.hash);
      if (refusal) settled.reject(refusedError(refusal));
      return refusal === undefined;
    });
  }

  /**
   * Seals less where no message of the broker holds a block, or where it cannot be drafted: the rules' part alone, then
   * halves; drops a single transaction that is no block by itself.
   */
  async #sealLess({ batch, ready }: BlockPart, wanted: number, signal: AbortSignal): Promise<void> {
    const half = <T>(all: readonly T[]): readonly T[] => all.slice(0, Math.max(1, Math.floor(all.length / 2)));
    if (batch.length > 0 && ready.length > 0) return await this.#seal({ batch, ready: [] }, wanted, signal);
    if (batch.length + ready.length > 1)
      return await this.#seal({ batch: half(batch), ready: half(ready) }, wanted, signal);
    this.#logger.warn(
      { hash: batch[0]?.sent.hash ?? ready[0]?.hash },
      'ledger dropped a transaction that fits no block',
    );
    this.#drop({
      refused: new Map(ready.map(({ hash }) => [hash, tooLarge.log])),
      refusals: new Map(batch.map(({ sent }) => [sent.hash, tooLarge])),
    });
  }

  /** Settles what is in the chain by now; the rest waits for the next block. */
  #settle(): void {
    this.#queue = this.#queue.filter((waiting) => {
      const sealed = this.#chain.transactions.byHash(waiting.sent.hash);
      if (sealed) waiting.settled.resolve({ hash: sealed.hash, height: sealed.height, code: sealed.code });
      return !sealed;
    });
  }

  async #sleep(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, Math.min(Math.max(ms, 1), longestWaitMs));
    this.#wake = resolve;
    await promise;
    clearTimeout(timer);
  }
}

const emptyBlock: BlockPart = { batch: [], ready: [] };
