import { createYielding } from '../../kit/yielding.ts';

/**
 * A list of which each item takes its form only when the answer is written: the forms of thousands are never in memory
 * together. As JSON it is the array of the forms.
 */
export class LongList<Item = never> {
  readonly #items: readonly Item[];
  readonly #form: (item: Item, at: number) => unknown;

  constructor(items: readonly Item[], form: (item: Item, at: number) => unknown) {
    this.#items = items;
    this.#form = form;
  }

  toJSON(): readonly unknown[] {
    return this.#items.map((item, at) => this.#form(item, at));
  }

  /** The forms one after the other. */
  *forms(): Generator {
    for (const [at, item] of this.#items.entries()) yield this.#form(item, at);
  }
}

/** Values in a list from which on others are served while it is written; a list of records is looked into. */
const long = 64;
/** Values of a list that are written at once. */
const atOnce = 32;

type Rest = () => Promise<void> | undefined;

/** The same text as `JSON.stringify` makes of a value; long lists in it are written in turns, and others are served. */
export async function jsonInTurns(value: unknown): Promise<string> {
  const rest = createYielding();
  return isInTurns(value) ? await textOf(value, rest) : (JSON.stringify(value) ?? 'null');
}

const isLong = (value: unknown): value is readonly unknown[] | LongList =>
  value instanceof LongList || (Array.isArray(value) && (value.length >= long || isRecord(value[0])));

const isRecord = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** Returns whether a value is a long list, or holds one. */
const isInTurns = (value: unknown): value is object =>
  isLong(value) ||
  (isRecord(value) && !('toJSON' in value) && !Array.isArray(value) && Object.values(value).some(isLong));

const textOf = async (value: object, rest: Rest): Promise<string> =>
  isLong(value) ? await listText(value, rest) : await recordText(value, rest);

async function listText(list: readonly unknown[] | LongList, rest: Rest): Promise<string> {
  const parts: string[] = [];
  let batch: unknown[] = [];
  const writeBatch = (): void => {
    if (batch.length > 0) parts.push(JSON.stringify(batch).slice(1, -1));
    batch = [];
  };
  for (const form of list instanceof LongList ? list.forms() : list) {
    if (isInTurns(form)) {
      writeBatch();
      parts.push(await textOf(form, rest));
    } else if (batch.push(form) === atOnce) {
      writeBatch();
      await rest();
    }
  }
  writeBatch();
  return `[${parts.join()}]`;
}

async function recordText(record: object, rest: Rest): Promise<string> {
  const members: string[] = [];
  for (const [name, value] of Object.entries(record)) {
    const text = isInTurns(value) ? await textOf(value, rest) : JSON.stringify(value);
    if (text !== undefined) members.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${members.join()}}`;
}
