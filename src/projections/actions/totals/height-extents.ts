import { sql } from 'kysely';
import type { Count, Counters } from '../../projection.ts';
import type { Reading } from '../../reading.ts';
import { run, slot } from '../../statement.ts';
import type { ActionRow } from '../../tables.ts';

/** A height of an action: of its register transaction, or the one at which its accounts count as an operator's. */
export type ExtentStep = 'registered' | 'finalized';

/** Between which heights the actions of a block of ids lie; `hasUnknown`: some are of no known height. */
export type Extent = Readonly<{ block: bigint; low: number; high: number; hasUnknown: boolean }>;

/** Ids that follow one another are counted together, in blocks of this many. */
export const idsPerBlock = 1024;
const heightsPerCell = 4096;
const unknownCell = -1;

/**
 * How many actions of a block of ids have a height within a cell of 4,096 heights; the cell of unknown heights is -1.
 *
 * They locate the actions of a height among the ids. Ids and heights rise together, so there are few cells of a block;
 * where they do not, totals are as exact and only slower.
 */
export const heightCounters: Counters<ActionRow> = {
  table: {
    name: 'height_counters',
    columns: { step: 'text', block: 'numeric', cell: 'int8', n: 'int8' },
    key: ['step', 'block', 'cell'],
  },
  counts: heightCounts,
};

/** The height counters that an action adds one to. */
function heightCounts({ id, height, accounts, finalize_tx }: ActionRow): Count[] {
  const block = blockOf(id);
  const one = (step: ExtentStep, at: number | null) => ({
    step,
    block,
    cell: at === null ? unknownCell : Math.floor(at / heightsPerCell),
    n: 1,
  });
  const registered = one('registered', height);
  return accounts.length === 0 ? [registered] : [registered, one('finalized', finalize_tx?.height ?? height)];
}

const exactAsDouble = 15;

/**
 * The block of an id, or the first one of its group of `span` blocks; decimal text where a double is not sure to be
 * exact.
 */
export function blockOf(id: string, span = 1): number | string {
  if (id.length <= exactAsDouble) return Math.floor(Number(id) / (idsPerBlock * span)) * span;
  return String((BigInt(id) / BigInt(idsPerBlock * span)) * BigInt(span));
}

type Extents = Map<ExtentStep, readonly Extent[]>;
const cache = new WeakMap<object, Readonly<{ position: string; extents: Extents }>>();

/** The extents of one database, cached for as long as the actions' generation and position stay the same. */
function cachedExtents({ reader, schemas, followed }: Reading): Extents {
  const position = JSON.stringify([schemas.actions, followed.actions]);
  const before = cache.get(reader);
  if (before?.position === position) return before.extents;
  const extents: Extents = new Map();
  cache.set(reader, { position, extents });
  return extents;
}

/** Between which heights every block of ids lies, by block; read once per position. */
export async function extentsOf(reading: Reading, step: ExtentStep): Promise<readonly Extent[]> {
  const cached = cachedExtents(reading);
  const before = cached.get(step);
  if (before) return before;
  const { actions } = reading.schemas;
  const blocks = await run<BlockCells>(reading, {
    shape: `heights ${actions}`,
    text: () => sql`
      select block, min(cell) filter (where cell <> ${sql.lit(unknownCell)}) as low, max(cell) as high,
        min(cell) = ${sql.lit(unknownCell)} as "hasUnknown"
      from ${sql.id(actions, heightCounters.table.name)} where step = ${slot('step')}::text collate "C"
      group by block order by block`,
    given: { step },
  });
  // Only what was surely read at this position may be cached.
  await reading.confirmed();
  const extents = blocks.map(extentOf);
  cached.set(step, extents);
  return extents;
}

/** The least and the greatest cell of heights of a block; `low` is null where all heights are unknown. */
type BlockCells = Readonly<{ block: string; low: number | null; high: number; hasUnknown: boolean }>;

/** The heights that the cells of a block span. */
export const extentOf = ({ block, low, high, hasUnknown }: BlockCells): Extent => ({
  block: BigInt(block),
  low: low === null ? Infinity : low * heightsPerCell,
  high: low === null ? -Infinity : (high + 1) * heightsPerCell - 1,
  hasUnknown,
});
