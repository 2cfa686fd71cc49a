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

/** A value whose JSON was written elsewhere. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toJSON(): unknown {
    return JSON.parse(this.text);
  }
}

/** Values in a list from which on others are served while it is written; a list of records is looked into. */
const long = 64;
/** Values of a list that are written at once. */
const atOnce = 32;

/** The same text as `JSON.stringify` makes of a value; long lists in it are written in turns, and others are served. */
export async function jsonInTurns(value: unknown): Promise<string> {
  if (!isInTurns(value)) return JSON.stringify(value) ?? 'null';
  const parts: string[] = [];
  await write(value, { parts, rest: createYielding() });
  return parts.join('');
}

/** The text so far, in parts, and what lets others be served. */
type Writing = Readonly<{ parts: string[]; rest: () => Promise<void> | undefined }>;

const isLong = (value: unknown): value is readonly unknown[] | LongList =>
  value instanceof LongList || (Array.isArray(value) && (value.length >= long || isRecord(value[0])));

const isRecord = (value: unknown): value is object => typeof value === 'object' && value !== null;

const isOurs = (value: unknown): boolean => value instanceof JsonText || isLong(value);

/** Returns whether a value is a long list or a written one, or holds one. */
const isInTurns = (value: unknown): value is object =>
  isOurs(value) ||
  (isRecord(value) && !('toJSON' in value) && !Array.isArray(value) && Object.values(value).some(isOurs));

async function write(value: object, writing: Writing): Promise<void> {
  if (value instanceof JsonText) writing.parts.push(value.text);
  else if (isLong(value)) await writeList(value, writing);
  else await writeRecord(value, writing);
}

async function writeList(list: readonly unknown[] | LongList, writing: Writing): Promise<void> {
  const { parts, rest } = writing;
  let separator = '';
  let batch: unknown[] = [];
  const writeBatch = (): void => {
    if (batch.length === 0) return;
    parts.push(separator, JSON.stringify(batch).slice(1, -1));
    separator = ',';
    batch = [];
  };
  parts.push('[');
  for (const form of list instanceof LongList ? list.forms() : list) {
    if (isInTurns(form)) {
      writeBatch();
      parts.push(separator);
      separator = ',';
      await write(form, writing);
      await rest();
    } else if (batch.push(form) === atOnce) {
      writeBatch();
      await rest();
    }
  }
  writeBatch();
  parts.push(']');
}

async function writeRecord(record: object, writing: Writing): Promise<void> {
  const { parts } = writing;
  let separator = '';
  parts.push('{');
  for (const [name, value] of Object.entries(record)) {
    const isLater = isInTurns(value);
    const text = isLater ? '' : JSON.stringify(value);
    if (text === undefined) continue;
    parts.push(`${separator}${JSON.stringify(name)}:${text}`);
    separator = ',';
    if (isLater) await write(value, writing);
  }
  parts.push('}');
}
