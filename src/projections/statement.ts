import { type CompiledQuery, type RawBuilder, sql } from 'kysely';
import type { Reading } from './reading.ts';

/** The values of a statement's slots in one run, by their names. */
export type Input = Readonly<Record<string, unknown>>;

class Slot {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** The position of a value in a statement; each run passes its own value. */
export const slot = (name: string): RawBuilder<unknown> => sql`${new Slot(name)}`;

/** A statement of one shape: `shape` distinguishes its text from all others, also from those for other generations. */
export type ShapedStatement = Readonly<{ shape: string; text: () => RawBuilder<unknown>; given: Input }>;

/** More than there are shapes; those of dropped generations make room when it is full. */
const mostShapes = 500;
const texts = new Map<string, CompiledQuery>();

/**
 * Runs a statement and returns its rows. The text is built the first time and reused from then on, because building it
 * takes longer than all else that a query needs.
 *
 * @example
 * run<{ n: number }>(reading, { shape: 'sum', text: () => sql`select ${slot('a')}::int4 + 1 as n`, given: { a: 1 } })
 */
export async function run<Row>(reading: Reading, { shape, text, given }: ShapedStatement): Promise<readonly Row[]> {
  let known = texts.get(shape);
  if (!known) {
    if (texts.size >= mostShapes) texts.clear();
    texts.set(shape, (known = text().compile(reading.db)));
  }
  const parameters = known.parameters.map((parameter) =>
    parameter instanceof Slot ? held(given, parameter) : parameter,
  );
  return (await reading.run({ sql: known.sql, parameters })) as readonly Row[];
}

function held(input: Input, { name }: Slot): unknown {
  if (!(name in input)) throw new Error(`A statement has a slot ${name}, but nothing was given for it`);
  return input[name];
}
