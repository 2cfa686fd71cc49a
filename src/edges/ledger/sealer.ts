import { AppError, type ErrorCode, toAppError } from '../../commands/errors.ts';
import type { Refusal } from '../../commands/ledger/ante.ts';
import type { SignedTransaction } from '../evm/pool/read-transaction.ts';
import { type NonceOf, WaitingTransactions } from '../evm/pool/waiting.ts';
import type { Logger } from '../kit/logger.ts';
import { type Cadence, onDemand } from './cadence.ts';
import type { Chain } from './chain.ts';
import { checkTransaction } from './check-transaction.ts';
import type { SentTransaction } from '../cosmos/transaction-codec.ts';
import { accountOfEvm } from '../cosmos/addresses.ts';
import { catchUp, type LedgerLog } from './log-fold.ts';

/** Where a transaction ended up. */
export type Receipt = Readonly<{ hash: string; height: number; code: number }>;

/** What became of a transaction that was sent: refused at once, or waiting for its block. */
export type Submitted = Readonly<{ refusal: Refusal } | { sealed: Promise<Receipt> }>;

type Waiting = Readonly<{
  sent: SentTransaction;
  /** Unix milliseconds; undefined means as soon as possible. */
  at: number | undefined;
  settled: PromiseWithResolvers<Receipt>;
}>;

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

  /** Takes a transaction in, or says why not; one that waits already is given its place again. */
  submit(sent: SentTransaction, at?: number): Submitted {
    const known = this.#queue.find((waiting) => waiting.sent.hash === sent.hash);
    if (known) return { sealed: known.settled.promise };
    const before = this.#chain.transactions.byHash(sent.hash);
    if (before) return { sealed: Promise.resolve({ hash: before.hash, height: before.height, code: before.code }) };
    const refusal = this.#queue.length >= mostWaiting ? full : this.check(sent);
    if (refusal !== undefined) return { refusal };
    const settled = Promise.withResolvers<Receipt>();
    settled.promise.catch(() => undefined);
    this.#queue.push({ sent, at, settled });
    this.#wake();
    return { sealed: settled.promise };
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

  /** Seals until the signal says stop; a log out of reach is waited for, and whatever else stops it fails. */
  async run(signal: AbortSignal): Promise<void> {
    const stop = (): void => this.#wake();
    signal.addEventListener('abort', stop);
    while (!signal.aborted) {
      try {
        await this.#step(signal);
      } catch (caught) {
        if (signal.aborted) break;
        const err = toAppError(caught);
        if (!passing.has(err.code)) throw err;
        this.#logger.warn({ err }, 'ledger could not seal; trying again');
        await this.#sleep(retryMs);
      }
    }
    signal.removeEventListener('abort', stop);
  }

  async #step(signal: AbortSignal): Promise<void> {
    this.#settle();
    const next = this.#queue[0];
    const now = next?.at ?? Date.now();
    const last = Date.parse(this.#chain.time);
    const { leastMs, emptyMs } = this.#cadence;
    const earliest = next?.at === undefined ? last + leastMs : 0;
    const due = Math.max(this.#chain.nextExpiry() ?? Infinity, earliest);
    const emptyAt = last + (emptyMs() ?? Infinity);
    const isWanted = next !== undefined || this.#ready().length > 0;
    if (due <= now) return await this.#seal([], due, signal);
    if (isWanted && earliest <= now) return await this.#seal(next ? this.#batch(next) : [], now, signal);
    if (emptyAt <= now) return await this.#seal([], now, signal);
    await this.#sleep(Math.min(due, emptyAt, isWanted ? earliest : Infinity) - now);
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

  async #seal(batch: readonly Waiting[], wanted: number, signal: AbortSignal): Promise<void> {
    const chain = this.#chain;
    const accepted = this.#accepted(batch);
    this.#queue = this.#queue.filter((waiting) => !batch.includes(waiting) || accepted.includes(waiting));
    if (batch.length > 0 && accepted.length === 0) return;
    const time = new Date(Math.max(wanted, Date.parse(chain.time) + 1)).toISOString();
    const sent = accepted.map((waiting) => waiting.sent);
    const isTimed = batch.some(({ at }) => at !== undefined);
    const { fact, evm, refused } = await chain.draftBlock(sent, isTimed ? [] : this.#ready(), time);
    for (const hash of refused.keys()) this.waiting.remove(hash);
    if (sent.length === 0 && fact.data.evm?.receipts.length === 0 && refused.size > 0) return;
    const decision = { kind: 'ledger', entity: 'chain', facts: [fact], expected: chain.sequence } as const;
    try {
      const { sequence } = await this.#log.append([decision], { at: time });
      await chain.apply([{ fact, sequence, drafted: evm }]);
      this.waiting.settle(this.#nonceOf, Date.now());
    } catch (caught) {
      if (toAppError(caught).code === 'INVALID_ARGUMENT' && accepted.length > 0)
        return await this.#divide(accepted, wanted, signal);
      // Whether the block is stored is unknown, or somebody else sealed one: the log tells.
      await catchUp(chain, this.#log, signal);
      if (chain.sequence === decision.expected) throw caught;
    }
  }

  /**
   * A block that no message of the broker holds: its first half is tried; a single transaction that does so much is
   * refused.
   */
  async #divide(batch: readonly Waiting[], wanted: number, signal: AbortSignal): Promise<void> {
    if (batch.length > 1) return await this.#seal(batch.slice(0, batch.length / 2), wanted, signal);
    this.#queue = this.#queue.filter((waiting) => !batch.includes(waiting));
    for (const { settled } of batch) settled.reject(refusedError(tooLarge));
  }

  /** Those that the chain takes as it is now; the others learn why not. */
  #accepted(batch: readonly Waiting[]): readonly Waiting[] {
    const ahead = new Map<string, number>();
    return batch.filter(({ sent, settled }) => {
      const { signer } = sent.transaction;
      const before = ahead.get(signer) ?? 0;
      const refusal = this.#check(sent, before);
      if (refusal === undefined) ahead.set(signer, before + 1);
      else settled.reject(refusedError(refusal));
      return refusal === undefined;
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

const full: Refusal = { code: 20, log: 'mempool is full' };
const tooLarge: Refusal = { code: 21, log: 'what the transaction does fits no block: tx too large' };

/** A refusal as an error, for who waits for a block. */
export function refusedError({ code, log }: Refusal): AppError {
  return new AppError('INVALID_ARGUMENT', `The ledger takes no such transaction: ${log} (code ${code})`);
}
