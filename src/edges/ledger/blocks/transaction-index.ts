import type { ChainEvent } from '../../../commands/ledger/draft.ts';
import type { SealedTransaction, Complete, CompleteTransaction } from './blocks.ts';

/** One term of a search for transactions; `key` is `type.attribute`. */
export type Condition = Readonly<{ key: string; operator: 'EXISTS' | '=' | '>=' | '<=' | '>' | '<'; value: string }>;

/** Transactions with an attribute: in all, and by its value where values come again. */
type Postings = Readonly<{ places: number[]; byValue: Map<string, number[]> }>;

/** Number of transactions that are searched at once. */
const lookedAtOnce = 100;

/** Attributes whose values hardly ever repeat: a scan finds them, which saves most of the memory of an index. */
const looked = new Set(
  'signature acc_seq amount fee error evidence_id height ethereumTxHash txIndex txGasUsed ethereumTxFailed'.split(' '),
);

/** Every transaction, indexed by hash and by the attributes of its events; order is that of the blocks. */
export class TransactionIndex {
  readonly #all: SealedTransaction[] = [];
  readonly #byHash = new Map<string, SealedTransaction>();
  /** By `type.key`. */
  readonly #postings = new Map<string, Postings>();

  byHash(hash: string): SealedTransaction | undefined {
    return this.#byHash.get(hash);
  }

  /** Adds the next transaction, with its events. */
  add(transaction: SealedTransaction, events: readonly ChainEvent[]): void {
    const position = this.#all.push(transaction) - 1;
    this.#byHash.set(transaction.hash, transaction);
    for (const { type, attributes } of events) {
      for (const { key, value } of attributes) {
        const postings = this.#postingsOf(`${type}.${key}`);
        addOnce(postings.places, position);
        if (!looked.has(key)) addTo(postings.byValue, value, position);
      }
    }
  }

  /**
   * The transactions that meet all conditions, oldest first; conditions without an index are checked on those that meet
   * the others.
   */
  async search(conditions: readonly Condition[], complete: Complete): Promise<SealedTransaction[]> {
    const lists = conditions.map((condition) => this.#candidates(condition)).filter((list) => list !== undefined);
    const shortest = lists.toSorted((a, b) => a.length - b.length)[0] ?? Array.from(this.#all.keys());
    const others = lists.filter((list) => list !== shortest).map((list) => new Set(list));
    const heights = conditions.filter((condition) => condition.key === 'tx.height');
    const match = shortest.flatMap((location) => {
      const transaction = this.#all[location];
      const isMatch =
        transaction &&
        others.every((set) => set.has(location)) &&
        heights.every((condition) => meets(String(transaction.height), condition));
      return isMatch ? [transaction] : [];
    });
    const looking = conditions.filter(isLooked);
    return looking.length === 0 ? match : this.#look(match, looking, complete);
  }

  async #look(
    transactions: readonly SealedTransaction[],
    conditions: readonly Condition[],
    full: Complete,
  ): Promise<SealedTransaction[]> {
    const result: SealedTransaction[] = [];
    for (let from = 0; from < transactions.length; from += lookedAtOnce) {
      const some = await full(transactions.slice(from, from + lookedAtOnce));
      result.push(...some.filter((one) => conditions.every((condition) => hasAttribute(one, condition))));
    }
    return result;
  }

  /** Undefined where a condition is not one on attributes. */
  #candidates(condition: Condition): readonly number[] | undefined {
    const { key, operator, value } = condition;
    if (key === 'tx.height') return undefined;
    if (key === 'tx.hash')
      return Array.from(this.#all.keys()).filter((place) => this.#all[place]?.hash === value.toUpperCase());
    const postings = this.#postings.get(key);
    if (!postings || operator === 'EXISTS' || isLooked(condition)) return postings?.places ?? [];
    return postings.byValue.get(value) ?? [];
  }

  #postingsOf(term: string): Postings {
    const known = this.#postings.get(term);
    if (known) return known;
    const made = { places: [], byValue: new Map<string, number[]>() };
    this.#postings.set(term, made);
    return made;
  }
}

/** Returns whether only a scan of the transactions can decide a condition. */
function isLooked({ key, operator }: Condition): boolean {
  if (key === 'tx.height' || key === 'tx.hash' || operator === 'EXISTS') return false;
  return operator !== '=' || looked.has(key.slice(key.lastIndexOf('.') + 1));
}

/** Returns whether an event of a transaction has an attribute that meets a condition. */
export function hasAttribute({ events }: CompleteTransaction, condition: Condition): boolean {
  return events.some(({ type, attributes }) =>
    attributes.some(({ key, value }) => `${type}.${key}` === condition.key && meets(value, condition)),
  );
}

function addTo(lists: Map<string, number[]>, key: string, place: number): void {
  const list = lists.get(key);
  if (list) addOnce(list, place);
  else lists.set(key, [place]);
}

/** Offsets only grow, so a repetition is the last one. */
function addOnce(list: number[], place: number): void {
  if (list.at(-1) !== place) list.push(place);
}

const comparisons = {
  EXISTS: () => true,
  '=': (left, right) => left === right,
  '>=': (left, right) => Number(left) >= Number(right),
  '<=': (left, right) => Number(left) <= Number(right),
  '>': (left, right) => Number(left) > Number(right),
  '<': (left, right) => Number(left) < Number(right),
} satisfies Record<Condition['operator'], (left: string, right: string) => boolean>;

/** Returns whether a value meets a condition. */
export function meets(hit: string, { operator, value }: Condition): boolean {
  return comparisons[operator](hit, value);
}
