import { AppError, passes, toAppError } from '../../kit/errors.ts';
import type { Refusal } from '../../commands/ledger/ante.ts';
import { poolLimits } from '../../commands/ledger/pool.ts';
import { type Fate, SettleSubmissions, SubmitTransactions } from '../../commands/ledger/submit.ts';
import { TransactionPool } from '../../commands/ledger/transaction-pool.ts';
import type { FactLog } from '../../commands/ports.ts';
import { dispatch } from '../bus.ts';
import { accountOfEvm } from '../chain/sign/addresses.ts';
import { decodeTransaction, type SentTransaction } from '../chain/sign/transaction-codec.ts';
import type { PoolFollower, SubmissionFate } from '../evm/pool/follow-pool.ts';
import { readTransaction, type SignedTransaction } from '../evm/pool/read-transaction.ts';
import { submissionFrom, submissionsIn } from '../evm/pool/submit.ts';
import type { SealedTransaction } from './blocks/blocks.ts';
import type { Chain, DraftBlock } from './chain.ts';
import { checkTransaction } from './check-transaction.ts';
import { chainHash } from './ethereum-transactions.ts';
import { fullPool, type TransactionResult, refusedError, type Submitted, type WaitingTransaction } from './receipt.ts';

const wrongSequence = 32;
/** Of the chain's own kind; beyond them its code for a full pool. */
const mostWaiting = 5000;
const mostWaitingBytes = 64 * 1024 * 1024;
/** Text of the transactions of one block; a message of the broker takes more, so that what they do fits as well. */
const mostBlockBytes = 512 * 1024;

/** Options of submissions. */
type SubmissionsOptions = Readonly<{
  chain: Chain;
  log: FactLog;
  /** Is called whenever a block may have more to take. */
  onChange: () => void;
}>;

/**
 * Transactions of both kinds that wait for a block, and the fate of each submission once it is decided.
 *
 * Every ledger process keeps them over the same stream; only the one that seals writes fates.
 */
export class Submissions {
  readonly #chain: Chain;
  readonly #log: FactLog;
  readonly #onChange: () => void;
  readonly #pool = new TransactionPool<SignedTransaction>();
  readonly #fates = new Map<string, Fate>();
  /** Fates of submissions, but for those that an older block holds. */
  readonly #older = new Map<string, Fate>();
  #queue: WaitingTransaction[] = [];

  constructor({ chain, log, onChange }: SubmissionsOptions) {
    this.#chain = chain;
    this.#log = log;
    this.#onChange = onChange;
  }

  /**
   * Admits a transaction of the chain's own kind, or returns the reason of its refusal; the same bytes again share the
   * first ones' block.
   */
  async submit(sent: SentTransaction, at?: number): Promise<Submitted> {
    const known = this.#queue.find((waiting) => waiting.sent.hash === sent.hash);
    if (known) return { sealed: known.settled.promise };
    const before = this.#receipt(sent.hash);
    if (before) return { sealed: Promise.resolve(before) };
    const refusal = this.#isFull(sent) ? fullPool : this.check(sent);
    if (refusal !== undefined) {
      const older = refusal.code === wrongSequence ? await this.#olderReceipt(sent.hash) : undefined;
      return older ? { sealed: Promise.resolve(older) } : { refusal };
    }
    const waiting = this.#add(sent, { at, isLogged: at !== undefined });
    if (at === undefined) void this.#send(waiting);
    return { sealed: waiting.settled.promise };
  }

  /** Why a transaction would be refused after those that wait; undefined when it would be accepted. */
  check(sent: SentTransaction): Refusal | undefined {
    const { height, history, chainId } = this.#chain;
    const ahead = this.#ahead(sent.transaction.signer);
    return checkTransaction(sent, { state: history.state, chainId, height: height + 1, ahead });
  }

  /** The sequence of an account's next transaction, and the account's number; undefined where there is no account. */
  signerInfo(address: string): Readonly<{ number: number; sequence: number }> | undefined {
    const account = this.#chain.history.account(address);
    return account && { number: account.number, sequence: account.sequence + this.#ahead(address) };
  }

  /** Receives submissions and their fates, from any process. */
  readonly follower: Omit<PoolFollower, 'signal' | 'log'> = {
    onSubmitted: ({ type, data }) => {
      const at = Date.parse(data.at);
      const raw = Buffer.from(data.raw, 'base64');
      const refusal = type === 'EvmTransactionSubmitted' ? this.#takeEvm(raw, at) : this.#takeOwn(raw, data.hash);
      if (refusal) this.#older.set(data.hash, refusal);
      this.#onChange();
    },
    onFate: (fate) => this.#takeFate(fate),
    isWaiting: (hash) => this.#queue.some(({ sent }) => sent.hash === hash),
    waiting: () => {
      const own = this.#queue.filter(({ at, isLogged }) => isLogged && at === undefined);
      return [...submissionsIn(this.#pool), ...own.map(({ sent }) => submissionFrom('cosmos', sent))];
    },
  };

  /** The first transaction of the chain's own kind that a block may take. */
  get next(): WaitingTransaction | undefined {
    return this.#queue.find(({ isLogged }) => isLogged);
  }

  /** Whether any transaction of the virtual machine can be in the next block. */
  get isReady(): boolean {
    return this.#pool.isReady(this.#chain.evm.next.baseFee);
  }

  /** Transactions of the virtual machine that the next block takes; on request the quick ones first. */
  ready(isQuickFirst = false): readonly SignedTransaction[] {
    return this.#pool.ready({ ...this.#chain.evm.next, isQuickFirst });
  }

  /** Those of the chain's own kind that go into one block, as many as fit one message of the broker. */
  batch(): readonly WaitingTransaction[] {
    const { next } = this;
    if (next === undefined || next.at !== undefined) return next ? [next] : [];
    const batch: WaitingTransaction[] = [];
    let bytes = 0;
    for (const waiting of this.#queue.filter(({ isLogged }) => isLogged)) {
      bytes += waiting.sent.bytes.length;
      if (waiting.at !== undefined || (batch.length > 0 && bytes > mostBlockBytes)) break;
      if (batch.push(waiting) >= this.#chain.genesis.params.maxActionsPerBlock) break;
    }
    return batch;
  }

  /**
   * Removes the transactions that the chain has included, those that it has passed, and those that have waited too
   * long.
   */
  settle(now: number): void {
    this.#queue = this.#queue.filter((waiting) => {
      const receipt = this.#receipt(waiting.sent.hash);
      if (!receipt) return true;
      waiting.settled.resolve(receipt);
      if (waiting.at === undefined) this.#decide(receipt.hash, { kind: 'sealed', height: receipt.height });
      return false;
    });
    for (const { hash } of this.#pool.settle((sender) => this.#nonceOf(sender))) this.#decide(hash, this.#fateOf(hash));
    for (const { hash } of this.#pool.expire(now)) this.#decide(hash, { kind: 'expired' });
  }

  /** Removes the transactions that a draft refused, and answers their submitters. */
  drop({ refused, refusals }: Pick<DraftBlock, 'refused' | 'refusals'>): void {
    for (const [hash, reason] of refused) {
      this.#pool.remove(hash);
      this.#decide(hash, { kind: 'dropped', reason, code: 0 });
    }
    for (const [hash, { code, log }] of refusals) this.#refuse(hash, { code, log });
  }

  /** Writes the fates that are decided and not in the log yet; those of others decide nothing. */
  async writeFates(): Promise<void> {
    for (const [hash, fate] of this.#older) {
      const sealed = await this.#chain.transaction(chainHash(hash));
      if (this.#older.delete(hash)) this.#fates.set(hash, sealed ? { kind: 'sealed', height: sealed.height } : fate);
    }
    if (this.#fates.size === 0) return;
    const at = new Date().toISOString();
    const decided = [...this.#fates];
    const settled = new Map(decided.map(([hash, fate]) => [hash, { hash, at, ...fate }]));
    await dispatch(this.#log, new SettleSubmissions(settled, { at }));
    for (const [hash, fate] of decided) if (this.#fates.get(hash) === fate) this.#fates.delete(hash);
  }

  /** Refuses what still waits in this process; what lies in the log is sealed by the next one. */
  close(): void {
    const closed = new AppError('UNAVAILABLE', 'The ledger stops; whether the transaction is sealed is not known yet');
    for (const { settled } of this.#queue.splice(0)) settled.reject(closed);
  }

  #decide(hash: string, fate: Fate): void {
    this.#fates.set(hash, fate);
    this.#onChange();
  }

  #takeEvm(raw: Uint8Array, at: number): Fate | undefined {
    const { bounds } = this.#chain.evm;
    if (Date.now() - at >= poolLimits.lifetimeMs) return { kind: 'expired' };
    let sent: SignedTransaction;
    try {
      sent = readTransaction(raw, bounds, at);
    } catch (caught) {
      return { kind: 'dropped', reason: toAppError(caught).message, code: 0 };
    }
    const { sender } = sent;
    const balance = this.#chain.history.account(accountOfEvm(sender))?.balance ?? 0n;
    const answer = this.#pool.admit(sent, { account: { nonce: this.#nonceOf(sender), balance }, ...bounds });
    if (answer.kind === 'refused') return { kind: 'dropped', reason: answer.reason, code: 0 };
    if (answer.kind === 'known') return undefined;
    if (answer.replaced) this.#decide(answer.replaced.hash, { kind: 'replaced', by: sent.hash });
    for (const { hash } of answer.evicted) this.#decide(hash, { kind: 'dropped', reason: 'txpool is full', code: 0 });
    return undefined;
  }

  #takeOwn(raw: Uint8Array, hash: string): Fate | undefined {
    const waiting = this.#queue.find(({ sent }) => sent.hash === hash);
    if (waiting) {
      waiting.isLogged = true;
      return undefined;
    }
    const sealed = this.#receipt(hash);
    if (sealed) return { kind: 'sealed', height: sealed.height };
    try {
      const sent = decodeTransaction(raw);
      const refusal = this.#isFull(sent) ? fullPool : this.check(sent);
      if (refusal) return { kind: 'dropped', reason: refusal.log, code: refusal.code };
      this.#add(sent, { at: undefined, isLogged: true });
      return undefined;
    } catch (caught) {
      return { kind: 'dropped', reason: toAppError(caught).message, code: 2 };
    }
  }

  #takeFate({ type, data }: SubmissionFate): void {
    this.#fates.delete(data.hash);
    this.#older.delete(data.hash);
    if (type === 'SubmissionSealed') return this.#pool.seal(data.hash);
    this.#pool.remove(data.hash);
    if (type !== 'SubmissionDropped') return;
    this.#reject(data.hash, { code: data.code, log: data.reason });
  }

  #add(sent: SentTransaction, { at, isLogged }: Pick<WaitingTransaction, 'at' | 'isLogged'>): WaitingTransaction {
    const settled = Promise.withResolvers<TransactionResult>();
    settled.promise.catch(() => undefined);
    const waiting = { sent, at, settled, isLogged };
    this.#queue.push(waiting);
    this.#onChange();
    return waiting;
  }

  async #send(waiting: WaitingTransaction): Promise<void> {
    const submission = submissionFrom('cosmos', waiting.sent);
    const { hash, at } = submission;
    try {
      await dispatch(this.#log, new SubmitTransactions(new Map([[hash, submission]]), { at }));
      waiting.isLogged = true;
      this.#onChange();
    } catch (caught) {
      this.#queue = this.#queue.filter((one) => one !== waiting);
      waiting.settled.reject(toAppError(caught));
    }
  }

  #refuse(hash: string, { code, log }: Refusal): void {
    if (this.#reject(hash, { code, log })?.at === undefined) this.#decide(hash, { kind: 'dropped', reason: log, code });
  }

  #reject(hash: string, refusal: Refusal): WaitingTransaction | undefined {
    const waiting = this.#queue.find(({ sent }) => sent.hash === hash);
    this.#queue = this.#queue.filter((one) => one !== waiting);
    waiting?.settled.reject(refusedError(refusal));
    return waiting;
  }

  #fateOf(hash: string): Fate {
    const sealed = this.#chain.recentTransaction(chainHash(hash));
    const reason = 'nonce too low: another transaction of the account is in a block';
    return sealed ? { kind: 'sealed', height: sealed.height } : { kind: 'dropped', reason, code: 0 };
  }

  #receipt(hash: string): TransactionResult | undefined {
    return receiptOf(this.#chain.recentTransaction(hash));
  }

  /** The block of a transaction that is not among the last ones; undefined, too, while that cannot be read. */
  async #olderReceipt(hash: string): Promise<TransactionResult | undefined> {
    try {
      return receiptOf(await this.#chain.transaction(hash));
    } catch (caught) {
      if (passes(caught)) return undefined;
      throw caught;
    }
  }

  #nonceOf(sender: string): bigint {
    return BigInt(this.#chain.history.account(accountOfEvm(sender))?.sequence ?? 0);
  }

  /** How many transactions of a signer wait; one that the chain has already may still be in the queue. */
  #ahead(signer: string): number {
    const ofSigner = this.#queue.filter(({ sent }) => sent.transaction.signer === signer);
    return ofSigner.filter(({ sent }) => this.#receipt(sent.hash) === undefined).length;
  }

  #isFull({ bytes }: SentTransaction): boolean {
    const waiting = this.#queue.reduce((sum, { sent }) => sum + sent.bytes.length, bytes.length);
    return this.#queue.length >= mostWaiting || waiting > mostWaitingBytes;
  }
}

const receiptOf = (sealed: SealedTransaction | undefined): TransactionResult | undefined =>
  sealed && { hash: sealed.hash, height: sealed.height, code: sealed.code };
