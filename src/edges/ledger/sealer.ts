import { createHash } from 'node:crypto';
import { AppError, type ErrorCode, toAppError } from '../../commands/errors.ts';
import { refusalOf } from '../../commands/ledger/execute.ts';
import type { Message } from '../../commands/ledger/messages.ts';
import type { Logger } from '../kit/logger.ts';
import { transactionBytes } from './blocks.ts';
import type { Chain, Pending } from './chain.ts';
import { catchUp, type LedgerLog } from './log-fold.ts';

/** Where a transaction ended up. */
export type Receipt = Readonly<{ hash: string; height: number; code: number }>;

type Waiting = {
  readonly messages: readonly Message[];
  /** Unix milliseconds; undefined means as soon as possible. */
  readonly at: number | undefined;
  readonly settled: PromiseWithResolvers<Receipt>;
  /** Of the last attempt, which may be in the log although nobody said so. */
  hash: string;
};

/** What goes by: a log out of reach, and another process that seals. */
const passing: ReadonlySet<ErrorCode> = new Set(['UNAVAILABLE', 'CONFLICT', 'DEADLINE']);
const retryMs = 1000;
/** Timers cannot be longer than 2^31 ms; the loop looks again anyway. */
const longestWaitMs = 3_600_000;

/** Seals blocks: one when transactions wait, one when an action's time has come, none otherwise. */
export class Sealer {
  readonly #chain: Chain;
  readonly #log: LedgerLog;
  readonly #logger: Logger;
  #queue: Waiting[] = [];
  #wake: () => void = () => undefined;

  constructor(chain: Chain, log: LedgerLog, logger: Logger) {
    this.#chain = chain;
    this.#log = log;
    this.#logger = logger;
  }

  /** Takes a transaction in; settles once its block is in the log. */
  submit(messages: readonly Message[], at?: number): Promise<Receipt> {
    const settled = Promise.withResolvers<Receipt>();
    this.#queue.push({ messages, at, settled, hash: '' });
    this.#wake();
    return settled.promise;
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
    const due = this.#chain.nextExpiry();
    if (due !== undefined && due <= now) return await this.#seal([], due, signal);
    if (next !== undefined) return await this.#seal(this.#batch(next), now, signal);
    await this.#sleep(due === undefined ? longestWaitMs : due - now);
  }

  /** Transactions of one block: those that want no time of their own go together. */
  #batch(first: Waiting): readonly Waiting[] {
    if (first.at !== undefined) return [first];
    const end = this.#queue.findIndex(({ at }) => at !== undefined);
    return this.#queue.slice(0, Math.min(end === -1 ? Infinity : end, this.#chain.genesis.params.maxActionsPerBlock));
  }

  async #seal(batch: readonly Waiting[], wanted: number, signal: AbortSignal): Promise<void> {
    const chain = this.#chain;
    const accepted = batch.filter((waiting) => !this.#isRefused(waiting));
    this.#queue = this.#queue.filter((waiting) => !batch.includes(waiting) || accepted.includes(waiting));
    if (batch.length > 0 && accepted.length === 0) return;
    const time = new Date(Math.max(wanted, Date.parse(chain.time) + 1)).toISOString();
    const pending = withHashes(chain, accepted);
    const fact = chain.draftBlock(pending, time);
    const decision = { kind: 'ledger', entity: 'chain', facts: [fact], expected: chain.sequence } as const;
    try {
      const { sequence } = await this.#log.append([decision], { at: time });
      chain.apply(fact, sequence);
    } catch (caught) {
      // Whether the block is stored is unknown, or somebody else sealed one: the log tells.
      await catchUp(chain, this.#log, signal);
      if (chain.sequence === decision.expected) throw caught;
    }
  }

  #isRefused({ messages, settled }: Waiting): boolean {
    const refusal = refusalOf(this.#chain.history.state, { messages, signature: '' });
    if (refusal !== undefined)
      settled.reject(new AppError('INVALID_ARGUMENT', `The ledger takes no such transaction: ${refusal}`));
    return refusal !== undefined;
  }

  /** Settles what is in the chain by now; the rest waits for the next block. */
  #settle(): void {
    this.#queue = this.#queue.filter((waiting) => {
      const sealed = this.#chain.transactions.byHash(waiting.hash);
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

/** Gives each its hash; a transaction's bytes hold its signer's sequence, so no two are the same. */
function withHashes(chain: Chain, waiting: readonly Waiting[]): Pending[] {
  const ahead = new Map<string, number>();
  return waiting.map((one) => {
    const signer = one.messages[0]?.creator ?? '';
    const before = ahead.get(signer) ?? 0;
    ahead.set(signer, before + 1);
    const bytes = transactionBytes(one.messages, (chain.history.account(signer)?.sequence ?? 0) + before);
    one.hash = createHash('sha256').update(bytes).digest('hex').toUpperCase();
    return { hash: one.hash, messages: one.messages };
  });
}
