import { type Admission, admit, blockOrder, type Pool, remaining } from '../../../commands/ledger/pool.ts';
import type { SignedTransaction } from './read-transaction.ts';

/** How many transactions of a sender are in blocks. */
export type NonceOf = (sender: string) => bigint;

/** Transactions that wait, with their bytes; mutable, by the pure rules of the pool. */
export class WaitingTransactions {
  #pool: Pool = new Map();
  readonly #byHash = new Map<string, SignedTransaction>();

  get(hash: string): SignedTransaction | undefined {
    return this.#byHash.get(hash);
  }

  all(): readonly SignedTransaction[] {
    return [...this.#byHash.values()];
  }

  /** Takes one in; gives the reason where the rules do not let it. One that is here already is taken again. */
  admit(given: SignedTransaction, admission: Admission): string | undefined {
    const outcome = admit(this.#pool, given, admission);
    if (outcome.kind === 'refused') return outcome.reason;
    if (outcome.kind === 'known') return undefined;
    this.#pool = outcome.pool;
    if (outcome.replaced !== undefined) this.#byHash.delete(outcome.replaced);
    this.#byHash.set(given.hash, given);
    return undefined;
  }

  /** Those that the next block takes, in its order, within a bound of gas. */
  ready({ baseFee, nonceOf, gasLimit }: Readonly<{ baseFee: bigint; nonceOf: NonceOf; gasLimit: bigint }>) {
    const chosen: SignedTransaction[] = [];
    let gas = 0n;
    for (const { hash } of blockOrder(this.#pool, { baseFee, nonceOf })) {
      const one = this.#byHash.get(hash);
      if (!one || gas + one.gasLimit > gasLimit) break;
      gas += one.gasLimit;
      chosen.push(one);
    }
    return chosen;
  }

  /** Forgets what is in blocks by now, and what waited too long. */
  settle(nonceOf: NonceOf, now: number): void {
    this.#pool = remaining(this.#pool, { now, nonceOf });
    const left = new Set([...this.#pool.values()].flat().map(({ hash }) => hash));
    for (const hash of this.#byHash.keys()) if (!left.has(hash)) this.#byHash.delete(hash);
  }

  remove(hash: string): void {
    const known = this.#byHash.get(hash);
    if (!known) return;
    this.#byHash.delete(hash);
    const own = (this.#pool.get(known.sender) ?? []).filter((one) => one.hash !== hash);
    this.#pool = new Map([...this.#pool, [known.sender, own]]);
  }
}
