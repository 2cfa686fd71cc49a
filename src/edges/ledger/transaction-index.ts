import type { SealedTransaction } from './blocks.ts';
import type { Condition } from './search-query.ts';

/** Every transaction, found by hash and by the attributes of its events; order is that of the blocks. */
export class TransactionIndex {
  readonly #all: SealedTransaction[] = [];
  readonly #byHash = new Map<string, SealedTransaction>();
  /** Places in `#all`, by `type.key` and by `type.key=value`. */
  readonly #places = new Map<string, number[]>();

  get count(): number {
    return this.#all.length;
  }

  byHash(hash: string): SealedTransaction | undefined {
    return this.#byHash.get(hash);
  }

  add(transaction: SealedTransaction): void {
    const place = this.#all.push(transaction) - 1;
    this.#byHash.set(transaction.hash, transaction);
    for (const term of termsOf(transaction)) {
      const places = this.#places.get(term);
      if (places) places.push(place);
      else this.#places.set(term, [place]);
    }
  }

  /** What meets all conditions, oldest first. */
  search(conditions: readonly Condition[]): SealedTransaction[] {
    const lists = conditions.map((condition) => this.#candidates(condition)).filter((list) => list !== undefined);
    const shortest = lists.toSorted((a, b) => a.length - b.length)[0] ?? Array.from(this.#all.keys());
    const others = lists.filter((list) => list !== shortest).map((list) => new Set(list));
    const heights = conditions.filter((condition) => condition.key === 'tx.height');
    return shortest.flatMap((place) => {
      const transaction = this.#all[place];
      const isFound =
        transaction &&
        others.every((set) => set.has(place)) &&
        heights.every((condition) => meets(transaction.height, condition));
      return isFound ? [transaction] : [];
    });
  }

  /** Undefined where a condition is not one on attributes. */
  #candidates(condition: Condition): readonly number[] | undefined {
    if (condition.key === 'tx.height') return undefined;
    if (condition.key === 'tx.hash')
      return Array.from(this.#all.keys()).filter((place) => this.#all[place]?.hash === condition.value.toUpperCase());
    if (condition.operator === 'EXISTS') return this.#places.get(condition.key) ?? [];
    if (condition.operator === '=') return this.#places.get(`${condition.key}=${condition.value}`) ?? [];
    return (this.#places.get(condition.key) ?? []).filter((place) => this.#hasAttribute(place, condition));
  }

  #hasAttribute(place: number, condition: Condition): boolean {
    const events = this.#all[place]?.events ?? [];
    return events.some(({ type, attributes }) =>
      attributes.some(({ key, value }) => `${type}.${key}` === condition.key && meets(Number(value), condition)),
    );
  }
}

function termsOf({ events }: SealedTransaction): Set<string> {
  const terms = new Set<string>();
  for (const { type, attributes } of events) {
    for (const { key, value } of attributes) terms.add(`${type}.${key}`).add(`${type}.${key}=${value}`);
  }
  return terms;
}

const comparisons = {
  EXISTS: () => true,
  '=': (left, right) => left === right,
  '>=': (left, right) => left >= right,
  '<=': (left, right) => left <= right,
  '>': (left, right) => left > right,
  '<': (left, right) => left < right,
} satisfies Record<Condition['operator'], (left: number, right: number) => boolean>;

function meets(number: number, { operator, value }: Condition): boolean {
  return comparisons[operator](number, Number(value));
}
