import { AdvanceChain } from '../../commands/ledger/sealing.ts';
import { type ErrorCode, toAppError } from '../../kit/errors.ts';
import type { SentTransaction } from '../chain/sign/transaction-codec.ts';
import { slowReason } from '../evm/executor/sealing-limits.ts';
import type { SignedTransaction } from '../evm/pool/read-transaction.ts';
import type { Logger } from '../../kit/logger.ts';
import { dispatch } from '../bus.ts';
import { type Cadence, onDemand } from './cadence.ts';
import type { Chain, DraftBlock } from './chain.ts';
import { stateRootIn } from './evm-block.ts';
import { ClockLeaps, HeadAge, leadOf } from './head-age.ts';
import { type TransactionResult, refusedError, tooLarge, type WaitingTransaction } from './receipt.ts';
import { catchUp, type LedgerLog, putBack } from './log-fold.ts';
import { Submissions } from './submissions.ts';

/** The contents of one block: the rules' transactions, and those of the virtual machine. */
type BlockPart = Readonly<{ batch: readonly WaitingTransaction[]; ready: readonly SignedTransaction[] }>;

/** Failures that pass: a log out of reach, and another process that seals. */
const passing: ReadonlySet<ErrorCode> = new Set(['UNAVAILABLE', 'CONFLICT', 'DEADLINE']);
const retryMs = 1000;
/** So long after a transaction that took too long, blocks take the quick ones first. */
const carefulMs = 60_000;
/** A block that is made for so long is reported: none should take that time. */
const reportedMs = 10_000;
/** Timers cannot be longer than 2^31 ms; the loop runs again anyway. */
const longestWaitMs = 3_600_000;

/** Seals blocks: one when transactions wait, one when an action's time has come, none otherwise. */
export class Sealer {
  readonly #chain: Chain;
  readonly #log: LedgerLog;
  readonly #logger: Logger;
  /** What waits for a block. */
  readonly submissions: Submissions;
  #wake: () => void = () => undefined;
  #cadence = onDemand;
  readonly #headAge = new HeadAge();
  readonly #leaps = new ClockLeaps();
  #obstacle: string | undefined;
  #isAhead = false;
  #carefulUntil = 0;
  #draftingSince: number | undefined;
  #isEndLost = false;

  constructor(chain: Chain, log: LedgerLog, logger: Logger) {
    this.#chain = chain;
    this.#log = log;
    this.#logger = logger;
    this.submissions = new Submissions({ chain, log, onChange: () => this.#wake() });
  }

  /** From now on blocks follow one another by a cadence; transactions with a time of their own keep that. */
  keep(cadence: Cadence): void {
    this.#cadence = cadence;
    cadence.onChange(() => this.#wake());
    this.#wake();
  }

  /** The log ends before the chain: its last blocks are put back before anything is sealed. */
  endLost(): void {
    this.#isEndLost = true;
    this.#wake();
  }

  /** The obstacles to sealing blocks as intended, in sentences. */
  obstacles(): readonly string[] {
    const leadMs = leadOf(this.#chain);
    const draftingMs = this.#draftingSince === undefined ? 0 : performance.now() - this.#draftingSince;
    return [
      ...(this.#obstacle === undefined ? [] : [`No block can be sealed: ${this.#obstacle}`]),
      ...(draftingMs < reportedMs ? [] : [`The next block is being made for ${Math.round(draftingMs / 1000)} s.`]),
      ...(leadMs === undefined
        ? []
        : [
            `The last block is ${Math.round(leadMs / 1000)} s ahead of this machine's clock; blocks go on from its time.`,
          ]),
    ];
  }

  /** Settles with the block of a transaction; fails with `INVALID_ARGUMENT` where the chain refuses it. */
  async receiptOf(sent: SentTransaction, at?: number): Promise<TransactionResult> {
    const submitted = await this.submissions.submit(sent, at);
    if ('refusal' in submitted) throw refusedError(submitted.refusal);
    return await submitted.sealed;
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
        await this.#sleep(retryMs, signal);
      }
    }
    signal.removeEventListener('abort', stop);
  }

  async #step(signal: AbortSignal): Promise<void> {
    if (this.#isEndLost) await putBack(this.#chain, this.#log);
    this.#isEndLost = false;
    this.submissions.settle(Date.now());
    await this.submissions.writeFates();
    this.#reportClock();
    const { next, isReady } = this.submissions;
    const now = next?.at ?? Date.now();
    const isTimed = next?.at !== undefined;
    const last = isTimed ? Date.parse(this.#chain.time) : now - this.#headAge.of(this.#chain);
    const { leastMs, emptyMs } = this.#cadence;
    const earliest = isTimed ? 0 : last + leastMs;
    const due = Math.max(this.#chain.nextExpiry() ?? Infinity, earliest);
    const emptyAt = last + (emptyMs() ?? Infinity);
    const isWanted = next !== undefined || isReady;
    if (due <= now) return await this.#seal(emptyBlock, due, signal);
    if (isWanted && earliest <= now) return await this.#seal(this.#part(), now, signal);
    if (emptyAt <= now) return await this.#seal(emptyBlock, now, signal);
    await this.#sleep(Math.min(due, emptyAt, isWanted ? earliest : Infinity) - now, signal);
  }

  /** Logs each leap of the clock, and once that the head is ahead of it. */
  #reportClock(): void {
    const leapMs = this.#leaps.next();
    if (leapMs !== undefined)
      this.#logger.warn({ leapMs }, 'the clock of this machine leapt, or the machine was suspended; blocks go on');
    const leadMs = leadOf(this.#chain);
    if (leadMs !== undefined && !this.#isAhead)
      this.#logger.warn({ leadMs }, 'the last block is ahead of this clock; blocks go on from its time');
    this.#isAhead = leadMs !== undefined;
  }

  /** The contents of the next block; a transaction with a time of its own has a block to itself. */
  #part(): BlockPart {
    const batch = this.submissions.batch();
    return { batch, ready: batch[0]?.at === undefined ? this.submissions.ready(this.#isCareful) : [] };
  }

  /** Whether a transaction of the last minute took too long: others like it may follow, and none of them pays. */
  get #isCareful(): boolean {
    return performance.now() < this.#carefulUntil;
  }

  /** Seals one block of a part; of less where all of it does not fit a block. */
  async #seal(part: BlockPart, wanted: number, signal: AbortSignal): Promise<void> {
    const chain = this.#chain;
    const leastMs = leadOf(chain) === undefined ? 1 : 1000;
    const time = new Date(Math.max(wanted, Date.parse(chain.time) + leastMs)).toISOString();
    const draft = await this.#draft(part, time);
    if (draft === undefined) return await this.#sealLess(part, wanted, signal);
    const { fact, evm } = draft;
    this.submissions.drop(draft);
    if ([...draft.refused.values()].includes(slowReason)) this.#carefulUntil = performance.now() + carefulMs;
    const isEmpty = fact.data.transactions.length === 0 && fact.data.evm?.receipts.length === 0;
    if (isEmpty && draft.refused.size + draft.refusals.size > 0) return;
    const before = chain.sequence;
    const known = new Map([['chain', { state: chain.height, sequence: before }]]);
    const step = { kind: 'seal', block: fact.data, root: stateRootIn(evm.header) } as const;
    try {
      const { last } = await dispatch(this.#log, new AdvanceChain(new Map([['chain', step]]), { at: time }, known));
      if (last) await chain.apply([{ fact, sequence: last.sequence - last.ids.length + 1, drafted: evm }]);
      // Another one has sealed, or more than the block was written.
      if (last?.ids.length !== 1) await catchUp(chain, this.#log, { signal });
      // The log decided nothing, and has nothing that the chain lacks.
      this.#isEndLost ||= chain.sequence === before;
    } catch (caught) {
      if (toAppError(caught).code === 'INVALID_ARGUMENT' && part.batch.length + part.ready.length > 0)
        return await this.#sealLess(part, wanted, signal);
      // Whether the block is stored is unknown, or another process sealed one: the log decides.
      await catchUp(chain, this.#log, { signal });
      if (chain.sequence === before) throw caught;
    }
  }

  /** Drafts a block; undefined where something in it fails in a way that waiting does not cure. */
  async #draft({ batch, ready }: BlockPart, time: string): Promise<DraftBlock | undefined> {
    const sent = batch.map((waiting) => waiting.sent);
    this.#draftingSince = performance.now();
    try {
      return await this.#chain.draftBlock(sent, ready, time);
    } catch (caught) {
      const err = toAppError(caught);
      if (passing.has(err.code) || batch.length + ready.length === 0) throw err;
      this.#logger.error({ err, transactions: batch.length + ready.length }, 'ledger could not draft a block');
      return undefined;
    } finally {
      this.#draftingSince = undefined;
    }
  }

  /**
   * Seals less where no message of the broker holds a block, or where it cannot be drafted: the rules' part alone, then
   * halves; drops a single transaction that fits no block even alone.
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
    this.submissions.drop({
      refused: new Map(ready.map(({ hash }) => [hash, tooLarge.log])),
      refusals: new Map(batch.map(({ sent }) => [sent.hash, tooLarge])),
    });
  }

  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, Math.min(Math.max(ms, 1), longestWaitMs));
    this.#wake = resolve;
    await promise;
    clearTimeout(timer);
  }
}

const emptyBlock: BlockPart = { batch: [], ready: [] };
