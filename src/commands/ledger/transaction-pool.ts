import {
  type Admission,
  blockOrder,
  divided,
  executable,
  paysMore,
  poolLimits,
  type PoolTransaction,
  quickFirst,
  refusalOfTransaction,
  type SenderLine,
} from './pool.ts';

/**
 * The pool's answer to a transaction; `replaced` is the one whose nonce it takes, `evicted` are those whose room it
 * takes.
 */
export type PoolAnswer<T extends PoolTransaction> =
  | Readonly<{ kind: 'admitted'; replaced: T | undefined; evicted: readonly T[] }>
  | Readonly<{ kind: 'known' }>
  | Readonly<{ kind: 'refused'; reason: string }>;

/** What is known of the next block. */
type NextBlock = Readonly<{ baseFee: bigint; gasLimit: bigint; isQuickFirst?: boolean }>;

/** How many transactions and bytes wait: of all, and of those that cannot run yet. */
type Totals = { all: number; bytes: number; queued: number; queuedBytes: number };

const full = 'txpool is full';

/**
 * Transactions of the virtual machine that wait for a block, bounded in number and bytes; mutable, without I/O.
 *
 * The sealer and every edge have one each, over the same submissions, by the same rules.
 */
export class TransactionPool<T extends PoolTransaction> {
  readonly #lines = new Map<string, SenderLine<T>>();
  readonly #byHash = new Map<string, T>();
  readonly #totals: Totals = { all: 0, bytes: 0, queued: 0, queuedBytes: 0 };

  get(hash: string): T | undefined {
    return this.#byHash.get(hash);
  }

  /** Those that can run now. */
  pending(): readonly T[] {
    return [...this.#lines.values()].flatMap((line) => divided(line).pending);
  }

  /** Those behind a gap, or beyond what one sender may have run at once. */
  queued(): readonly T[] {
    return [...this.#lines.values()].flatMap((line) => divided(line).queued);
  }

  /**
   * Admits a transaction or returns the reason of its refusal; a full pool evicts queued ones first, the cheapest
   * first.
   */
  admit(transaction: T, admission: Admission): PoolAnswer<T> {
    if (this.#byHash.has(transaction.hash)) return { kind: 'known' };
    const { sender } = transaction;
    const own = this.#lines.get(sender)?.own ?? [];
    const reason = refusalOfTransaction(transaction, own, admission);
    if (reason !== undefined) return { kind: 'refused', reason };
    const replaced = own.find(({ nonce }) => nonce === transaction.nonce);
    const others = own.filter((one) => one !== replaced);
    this.#put(sender, { nonce: admission.account.nonce, own: inOrder([...others, transaction]) });
    const evicted: T[] = [];
    for (let cheapest = this.#excess(); cheapest; cheapest = this.#excess()) {
      this.remove(cheapest.hash);
      if (cheapest === transaction) {
        if (replaced) this.#put(sender, { nonce: admission.account.nonce, own });
        for (const one of evicted) this.#restore(one);
        return { kind: 'refused', reason: full };
      }
      evicted.push(cheapest);
    }
    return { kind: 'admitted', replaced, evicted };
  }

  /** Returns whether any transaction can be in a block with this base fee. */
  isReady(baseFee: bigint): boolean {
    for (const { nonce, own } of this.#lines.values()) {
      const [first] = executable(own, nonce);
      if (first && first.maxFeePerGas >= baseFee) return true;
    }
    return false;
  }

  /**
   * Those that the next block takes, in its order, within a bound of gas; on request the quick ones first. One that no
   * longer fits waits with all that its sender has behind it, and smaller ones of others take the room.
   */
  ready({ baseFee, gasLimit, isQuickFirst = false }: NextBlock): readonly T[] {
    const chosen: T[] = [];
    const behind = new Set<string>();
    let gas = 0n;
    const ordered = blockOrder(this.#lines.values(), baseFee);
    for (const one of isQuickFirst ? quickFirst(ordered) : ordered) {
      if (gas + one.gasLimit > gasLimit) behind.add(one.sender);
      if (behind.has(one.sender)) continue;
      gas += one.gasLimit;
      chosen.push(one);
    }
    return chosen;
  }

  /** Updates the nonces to the head's; returns the transactions that no block can include any more. */
  settle(nonceOf: (sender: string) => bigint): readonly T[] {
    const passed: T[] = [];
    for (const [sender, { own }] of this.#lines) {
      const nonce = nonceOf(sender);
      passed.push(...own.filter((one) => one.nonce < nonce));
      this.#put(sender, { nonce, own: own.filter((one) => one.nonce >= nonce) });
    }
    return passed;
  }

  /** Removes those that have waited too long at `now` (unix milliseconds). */
  expire(now: number): readonly T[] {
    const expired = [...this.#byHash.values()].filter(({ submittedAt }) => now - submittedAt >= poolLimits.lifetimeMs);
    for (const { hash } of expired) this.remove(hash);
    return expired;
  }

  /** Removes one that is in a block: the next nonce of its sender is the one after it. */
  seal(hash: string): void {
    const one = this.#byHash.get(hash);
    const line = one && this.#lines.get(one.sender);
    if (!one || !line) return;
    const nonce = one.nonce + 1n > line.nonce ? one.nonce + 1n : line.nonce;
    this.#put(one.sender, { nonce, own: line.own.filter((other) => other.nonce >= nonce) });
  }

  remove(hash: string): void {
    const one = this.#byHash.get(hash);
    const line = one && this.#lines.get(one.sender);
    if (one && line) this.#put(one.sender, { ...line, own: line.own.filter((other) => other !== one) });
  }

  #restore(one: T): void {
    const { nonce, own } = this.#lines.get(one.sender) ?? { nonce: one.nonce, own: [] };
    this.#put(one.sender, { nonce, own: inOrder([...own, one]) });
  }

  #put(sender: string, line: SenderLine<T>): void {
    const before = this.#lines.get(sender);
    if (before) this.#count(before, -1);
    for (const { hash } of before?.own ?? []) this.#byHash.delete(hash);
    for (const one of line.own) this.#byHash.set(one.hash, one);
    this.#count(line, 1);
    if (line.own.length === 0) this.#lines.delete(sender);
    else this.#lines.set(sender, line);
  }

  #count(line: SenderLine<T>, times: 1 | -1): void {
    const { queued } = divided(line);
    this.#totals.all += times * line.own.length;
    this.#totals.bytes += times * bytesOf(line.own);
    this.#totals.queued += times * queued.length;
    this.#totals.queuedBytes += times * bytesOf(queued);
  }

  /** The next one to go while the pool is over a bound; undefined while it is within all. */
  #excess(): T | undefined {
    const { all, bytes, queued, queuedBytes } = this.#totals;
    const isOver = all > poolLimits.all || bytes > poolLimits.bytes;
    if (queued > 0 && (isOver || queued > poolLimits.queued || queuedBytes > poolLimits.queuedBytes))
      return cheapestOf(this.queued());
    // The last of each sender: what goes must not leave a gap.
    return isOver ? cheapestOf([...this.#lines.values()].flatMap(({ own }) => own.slice(-1))) : undefined;
  }
}

const inOrder = <T extends PoolTransaction>(own: readonly T[]): readonly T[] =>
  own.toSorted((a, b) => Number(a.nonce - b.nonce));

const bytesOf = (own: readonly PoolTransaction[]): number => own.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);

const cheapestOf = <T extends PoolTransaction>(all: readonly T[]): T | undefined =>
  all.reduce<T | undefined>(
    (cheapest, one) => (cheapest === undefined || paysMore(cheapest, one) ? one : cheapest),
    undefined,
  );
