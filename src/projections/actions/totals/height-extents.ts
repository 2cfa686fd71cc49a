import { keptAtPosition } from './position-cache.ts';
import type { Reading } from '../../reading.ts';
import { remembered } from './memoize.ts';
import type { ActionRow } from '../../tables.ts';

/** A height of an action: of its register transaction, or the one at which its accounts count as somebody's. */
export type HeightOf = 'registered' | 'finalized';

/** Between which heights the actions of a block of ids lie; `hasUnknown`: some are of no known height. */
export type Extent = Readonly<{ block: bigint; low: number; high: number; hasUnknown: boolean }>;

/** Ids that follow one another are looked at together, in blocks of this many. */
export const idsPerBlock = 1024n;
const heightsPerCell = 4096;
const unknown = 'unknown';

/**
 * Counters that tell where in the ids the actions of a height are: one per block of ids and cell of heights.
 *
 * Ids and heights rise together, so there are few; where they do not, ranges are as exact and only slower.
 *
 * @example ['heights:registered,0,0']
 */
export function placeNames(row: ActionRow): string[] {
  const block = blockNameOf(row.id);
  const names = [registeredName(cellOf(row.height), block)];
  if (row.accounts.length > 0) names.push(finalizedName(cellOf(row.finalize_tx?.height ?? row.height), block));
  return names;
}

const nameFor = (of: HeightOf) =>
  remembered((cell: string | number, block: string | number) => `heights:${of},${cell},${block}`);
const registeredName = nameFor('registered');
const finalizedName = nameFor('finalized');

/** The block of an id. */
export const blockOf = (id: string): bigint => BigInt(id) / idsPerBlock;

const shortId = /^\d{1,15}$/;

/** The number of the block of an id, as fast as can be: a double where one is exact, else decimal text. */
export const blockNameOf = (id: string): string | number =>
  shortId.test(id) ? Math.floor(Number(id) / Number(idsPerBlock)) : String(blockOf(id));

const cellOf = (height: number | null) => (height === null ? unknown : Math.floor(height / heightsPerCell));

const kept = keptAtPosition(() => new Map<HeightOf, readonly Extent[]>());

/** Between which heights every block of ids lies, by block; read once per position. */
export async function extentsOf(reading: Reading, of: HeightOf): Promise<readonly Extent[]> {
  const { db, schemas } = reading;
  const own = kept(reading);
  const before = own.get(of);
  if (before) return before;
  const rows = await db
    .withSchema(schemas.actions)
    .selectFrom('counters')
    .select('name')
    .where('name', '>=', `heights:${of},`)
    .where('name', '<', `heights:${of}-`)
    .execute();
  await reading.confirmed();
  const extents = extentsIn(rows.map(({ name }) => name));
  own.set(of, extents);
  return extents;
}

/** What the names of counters say of every block, by block. */
export function extentsIn(names: readonly string[]): Extent[] {
  const extents = new Map<string, Extent>();
  for (const name of names) {
    const [, cell = '', block = ''] = name.split(',');
    const { low, high, hasUnknown } = extents.get(block) ?? { low: Infinity, high: -Infinity, hasUnknown: false };
    const first = cell === unknown ? Infinity : Number(cell) * heightsPerCell;
    extents.set(block, {
      block: BigInt(block),
      low: Math.min(low, first),
      high: Math.max(high, cell === unknown ? -Infinity : first + heightsPerCell - 1),
      hasUnknown: hasUnknown || cell === unknown,
    });
  }
  return [...extents.values()].toSorted((a, b) => (a.block < b.block ? -1 : 1));
}
