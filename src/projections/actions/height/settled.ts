import { type RawBuilder, sql } from 'kysely';
import type { ActionFilter } from '../action-filter.ts';
import { kindsIn } from '../kinds.ts';
import type { Reading } from '../../reading.ts';
import { type Input, slot } from '../../statement.ts';
import { counterRanges, countersIn, rangesIn } from '../totals/block-counters.ts';
import { kindsInput } from '../totals/branches.ts';
import { extentsOf, heightCounters } from '../totals/height-extents.ts';
import { type Blocks, idsOfBlocks } from '../totals/id-ranges.ts';
import { rowRangesIn } from '../totals/ownership-ranges.ts';

/**
 * The blocks of ids that matter at a height: of `settled` ones every action is now as it was then, of `open` ones each
 * row has to be looked at. All others begin later.
 */
export type BlocksAtHeight = Readonly<{ settled: readonly Blocks[]; open: readonly Blocks[] }>;

/** Finds the blocks of a height, runs of those that follow one another. */
export async function blocksAtHeight(reading: Reading, height: number): Promise<BlocksAtHeight> {
  const last = new Map((await extentsOf(reading, 'last')).map((extent) => [extent.block, extent]));
  const blocks = { settled: [] as Blocks[], open: [] as Blocks[] };
  for (const { block, low, hasUnknown } of await extentsOf(reading, 'registered')) {
    const end = last.get(block);
    if (low > height && !hasUnknown) continue;
    const runs = end && !end.hasUnknown && end.high <= height ? blocks.settled : blocks.open;
    const run = runs.at(-1);
    if (run && run.last + 1n === block) runs[runs.length - 1] = { first: run.first, last: block };
    else runs.push({ first: block, last: block });
  }
  return blocks;
}

const all = { scope: 'all', address: '' } as const;

/** Fills the slots of `openRows`, `settledCounts`, `settledExpired`, and of `pageOf` for the settled blocks. */
export function blocksInput({ settled, open }: BlocksAtHeight, filter: Pick<ActionFilter, 'type' | 'state'>): Input {
  const owner = { ...all, finalized: { from: 0, to: Infinity } };
  const rows = open.map(idsOfBlocks);
  return {
    'open.low': rows.map(({ low }) => low),
    'open.high': rows.map(({ high }) => high),
    'settled.from': settled.map(({ first }) => String(first)),
    'settled.to': settled.map(({ last }) => String(last)),
    kinds: kindsIn(filter),
    ...kindsInput(filter),
    ...rangesIn(
      'settled',
      settled.flatMap((blocks) => counterRanges(all, blocks)),
    ),
    ...rowRangesIn(
      'page',
      settled.map((blocks) => ({ owner, ids: idsOfBlocks(blocks) })),
    ),
  };
}

/** The rows of actions of open blocks, with the columns that steps and kinds follow from: those of the key's index. */
export const openRows = ({ schemas }: Reading): RawBuilder<unknown> => sql`(
  select own.* from unnest(${slot('open.low')}::numeric[], ${slot('open.high')}::numeric[]) open (low, high)
  cross join lateral (
    select id, type, height, finalized_height, approved_height, expired_height
    from ${sql.id(schemas.actions, 'actions')} where id >= open.low and id < open.high offset 0
  ) own)`;

/** How many actions settled blocks have as rows `kind` and `n`; of the kinds in the slot `kinds`, or of any. */
export const settledCounts = (reading: Reading, { ofKinds }: { ofKinds: boolean }): RawBuilder<unknown> =>
  countersIn(reading, 'settled', { ofKinds });

/** How many actions of settled blocks have expired. */
export const settledExpired = ({ schemas }: Reading): RawBuilder<unknown> => sql`(
  select coalesce(sum(counter.n), 0)
  from unnest(${slot('settled.from')}::numeric[], ${slot('settled.to')}::numeric[]) settled (low, high)
  join ${sql.id(schemas.actions, heightCounters.table.name)} counter on counter.step = 'expired' collate "C"
    and counter.block >= settled.low and counter.block <= settled.high)`;
