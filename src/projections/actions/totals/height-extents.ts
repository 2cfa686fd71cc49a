import { sql } from 'kysely';
import type { Count, Counters } from '../../projection.ts';
import type { Reading } from '../../reading.ts';
import { run, slot } from '../../statement.ts';
import type { ActionRow } from '../../tables.ts';
import { unknownHeight } from '../action-tables.ts';
import { changedRows } from '../changed-rows.ts';
import { MadeAt } from '../../made-at.ts';
import { type Extent, regroup } from './extent-groups.ts';

/**
 * A height of an action: of its register transaction, the one at which its accounts count as an operator's, or the last
 * one at which it is known to have changed, unknown where that of one of its steps is.
 */
export type ExtentStep = 'registered' | 'finalized' | 'last';

/** Ids that follow one another are counted together, in blocks of this many. */
export const idsPerBlock = 1024;
const heightsPerCell = 4096;
const unknownCell = -1;

/**
 * How many actions of a block of ids have a height within a cell of 4,096 heights; the cell of unknown heights is -1.
 * How many have expired is counted by block as well.
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
function heightCounts(row: ActionRow): Count[] {
  const { height, accounts, finalize_tx, finalized_height, approved_height, expired_height } = row;
  const block = blockOf(row.id);
  const one = (step: ExtentStep | 'expired', at: number | null) => ({
    step,
    block,
    cell: at === null ? unknownCell : Math.floor(at / heightsPerCell),
    n: 1,
  });
  const steps = [height ?? unknownHeight, finalized_height ?? 0, approved_height ?? 0];
  const last = steps.includes(unknownHeight) ? null : Math.max(...steps, expired_height ?? 0);
  return [
    one('registered', height),
    ...(accounts.length === 0 ? [] : [one('finalized', finalize_tx?.height ?? height)]),
    one('last', last),
    ...(expired_height === null ? [] : [one('expired', expired_height)]),
  ];
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

/** So many facts later all blocks are read anew, which costs less than to find those that changed. */
const farBehind = 20_000;

type OfSteps = Readonly<Record<ExtentStep, MadeAt<readonly Extent[]>>>;
const cache = new WeakMap<object, OfSteps>();

/**
 * Between which heights every block of ids lies, by block.
 *
 * Cached for each database: at a later position only the blocks of the actions that changed since are read.
 */
export async function extentsOf(reading: Reading, step: ExtentStep): Promise<readonly Extent[]> {
  const { reader, schemas, followed } = reading;
  const { incarnation, sequence } = followed.actions;
  const generation = JSON.stringify([schemas.actions, incarnation]);
  const cached = cache.get(reader) ?? ofSteps();
  cache.set(reader, cached);
  return await cached[step].get({ generation, sequence }, async (before) =>
    before
      ? replaceBlocks(before.value, await changedCells(reading, step, before.sequence))
      : (await allCells(reading, step)).map(extentOf),
  );
}

const ofSteps = (): OfSteps => ({
  registered: new MadeAt(farBehind),
  finalized: new MadeAt(farBehind),
  last: new MadeAt(farBehind),
});

const cellsOfBlock = sql`min(cell) filter (where cell <> ${sql.lit(unknownCell)}) as low, max(cell) as high,
  min(cell) = ${sql.lit(unknownCell)} as "hasUnknown"`;

const allCells = async (reading: Reading, step: ExtentStep): Promise<readonly BlockCells[]> =>
  await run<BlockCells>(reading, {
    shape: `heights ${reading.schemas.actions}`,
    text: () => sql`
      select block, ${cellsOfBlock} from ${sql.id(reading.schemas.actions, heightCounters.table.name)}
      where step = ${slot('step')}::text collate "C" group by block order by block`,
    given: { step },
  });

/** The blocks of the actions that changed after a position; those that have no cell any more have null for `high`. */
const changedCells = async (reading: Reading, step: ExtentStep, after: number): Promise<readonly ChangedCells[]> =>
  await run<ChangedCells>(reading, {
    shape: `changed heights ${reading.schemas.actions}`,
    text: () => sql`
      select block, ${cellsOfBlock}
      from (
        select distinct div(id, ${sql.lit(idsPerBlock)}) as block
        from ${changedRows(reading, ['id'], farBehind)} latest
      ) changed
      left join lateral (
        select cell from ${sql.id(reading.schemas.actions, heightCounters.table.name)} counter
        where counter.step = ${slot('step')}::text collate "C" and counter.block = changed.block
        offset 0
      ) cells on true
      group by block order by block`,
    given: { step, after },
  });

type ChangedCells = Omit<BlockCells, 'high'> & Readonly<{ high: number | null }>;

/** Extents with some blocks as they are now, in the order of the blocks; the same ones where all are as they were. */
function replaceBlocks(extents: readonly Extent[], changed: readonly ChangedCells[]): readonly Extent[] {
  const now = new Map(
    changed.map((cells) => {
      const { block, high } = cells;
      return [BigInt(block), high === null ? undefined : extentOf({ ...cells, high })];
    }),
  );
  if ([...now].every(([block, one]) => isSame(extentAt(extents, block), one))) return extents;
  const others = extents.filter(({ block }) => !now.has(block));
  const replaced = [...others, ...[...now.values()].filter((one) => one !== undefined)];
  replaced.sort((a, b) => (a.block < b.block ? -1 : 1));
  regroup(extents, replaced, [...now.keys()]);
  return replaced;
}

/** The extent of a block among those of all, which come in the order of their blocks. */
function extentAt(extents: readonly Extent[], block: bigint): Extent | undefined {
  let [from, to] = [0, extents.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    const at = extents[middle];
    if (at === undefined || at.block === block) return at;
    if (at.block < block) from = middle + 1;
    else to = middle;
  }
  return undefined;
}

const isSame = (before: Extent | undefined, now: Extent | undefined): boolean =>
  before?.low === now?.low && before?.high === now?.high && before?.hasUnknown === now?.hasUnknown;

/** The least and the greatest cell of heights of a block; `low` is null where all heights are unknown. */
type BlockCells = Readonly<{ block: string; low: number | null; high: number; hasUnknown: boolean }>;

/** The heights that the cells of a block span. */
export const extentOf = ({ block, low, high, hasUnknown }: BlockCells): Extent => ({
  block: BigInt(block),
  low: low === null ? Infinity : low * heightsPerCell,
  high: low === null ? -Infinity : (high + 1) * heightsPerCell - 1,
  hasUnknown,
});
