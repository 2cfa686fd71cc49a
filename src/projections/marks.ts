import { sql } from 'kysely';
import { marksOf, type MarkRow, positionsPerMark } from './past-tables.ts';
import type { Reading } from './reading.ts';
import type { PastTable } from './relation.ts';
import { run, slot } from './statement.ts';

/**
 * The least key new from a position on, or a little earlier, and the greatest up to it, or a little later; undefined
 * where there are none on that side.
 */
export type Mark = Readonly<{ least: bigint | undefined; greatest: bigint | undefined }>;

type Block = Readonly<{ block: number; least: bigint; greatest: bigint }>;

/**
 * The marks of a generation at one position of it. Those of blocks before `end` never change; any later fact can still
 * lower the least key from a position on.
 */
type Marks = Readonly<{
  generation: string;
  sequence: number;
  end: number;
  settled: readonly Block[];
  /** Of each settled block, the least key from it on and the greatest one up to it, among the settled ones. */
  extremes: readonly Mark[];
  open: readonly Block[];
}>;

const cache = new WeakMap<object, Map<string, Marks>>();

/**
 * Runs `use` with the mark of a position: with the one that is known from memory, while that is read which may have
 * changed since, and again where it was another one. So it mostly takes one round trip to PostgreSQL.
 */
export async function withMark<T>(
  reading: Reading,
  from: PastTable,
  { at, use }: Readonly<{ at: number; use: (mark: Mark) => Promise<T> }>,
): Promise<T> {
  const block = Math.floor(at / positionsPerMark);
  const known = knownMarks(reading, from);
  // At the same position nothing can have changed.
  if (known?.sequence === reading.followed[from.projection].sequence) return await use(markOf(known, block));
  const present = presentMarks(reading, from, known);
  // What a fact changes in an open block is seen too often to be assumed.
  if (!known || block >= known.end) return await use(markOf(await present, block));
  const assumed = markOf(known, block);
  const [now, used] = await Promise.allSettled([present, use(assumed)]);
  if (now.status === 'rejected') throw now.reason;
  const mark = markOf(now.value, block);
  if (mark.least !== assumed.least || mark.greatest !== assumed.greatest) return await use(mark);
  if (used.status === 'rejected') throw used.reason;
  return used.value;
}

const generationOf = ({ schemas, followed }: Reading, { projection }: PastTable): string =>
  JSON.stringify([schemas[projection], followed[projection].incarnation]);

function knownMarks(reading: Reading, from: PastTable): Marks | undefined {
  const known = cache.get(reading.reader)?.get(from.table.name);
  const isOurs = known?.generation === generationOf(reading, from);
  return isOurs && known.sequence <= reading.followed[from.projection].sequence ? known : undefined;
}

/** Reads the marks that may have changed, and keeps all in memory. */
async function presentMarks(reading: Reading, from: PastTable, known: Marks | undefined): Promise<Marks> {
  const { reader, schemas, followed } = reading;
  const { projection, table } = from;
  const rows = await run<MarkRow>(reading, {
    shape: `marks ${schemas[projection]}`,
    text: () => sql`
      select block, least::text, greatest::text from ${sql.id(schemas[projection], marksOf(table)?.name ?? '')}
      where block between ${slot('first')}::int8 and ${slot('last')}::int8 order by block`,
    // With both bounds the plan for any values reads the index.
    given: { first: known?.end ?? 0, last: Math.floor(followed[projection].sequence / positionsPerMark) },
  });
  const { sequence } = followed[projection];
  const end = Math.floor((sequence + 1) / positionsPerMark);
  const read = rows.map((row): Block => ({
    block: row.block,
    least: BigInt(row.least),
    greatest: BigInt(row.greatest),
  }));
  const fresh = read.filter(({ block }) => block < end);
  const settled = known && fresh.length === 0 ? known.settled : [...(known?.settled ?? []), ...fresh];
  const marks: Marks = {
    generation: generationOf(reading, from),
    sequence,
    end,
    settled,
    extremes: known?.settled === settled ? known.extremes : extremesOf(settled),
    open: read.filter(({ block }) => block >= end),
  };
  const cached = cache.get(reader) ?? new Map<string, Marks>();
  cache.set(reader, cached);
  const latest = cached.get(table.name);
  if (latest?.generation !== marks.generation || latest.sequence < sequence) cached.set(table.name, marks);
  return marks;
}

function extremesOf(blocks: readonly Block[]): Mark[] {
  let greatest: bigint | undefined;
  const upTo = blocks.map((one) => (greatest = larger(greatest, one.greatest)));
  let least: bigint | undefined;
  const onwards = blocks.toReversed().map((one) => (least = smaller(least, one.least)));
  return upTo.map((one, at) => ({ greatest: one, least: onwards[blocks.length - 1 - at] }));
}

function markOf({ settled, extremes, open }: Marks, block: number): Mark {
  const after = countBefore(settled, block);
  const upTo = settled[after]?.block === block ? after : after - 1;
  const later = open.filter((one) => one.block >= block).map((one) => one.least);
  const earlier = open.filter((one) => one.block <= block).map((one) => one.greatest);
  return {
    least: later.reduce(smaller, extremes[after]?.least),
    greatest: earlier.reduce(larger, extremes[upTo]?.greatest),
  };
}

/** How many blocks come before one. */
function countBefore(blocks: readonly Block[], block: number): number {
  let [low, high] = [0, blocks.length];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((blocks[middle]?.block ?? Infinity) < block) low = middle + 1;
    else high = middle;
  }
  return low;
}

const smaller = (a: bigint | undefined, b: bigint): bigint => (a === undefined || b < a ? b : a);
const larger = (a: bigint | undefined, b: bigint): bigint => (a === undefined || b > a ? b : a);
