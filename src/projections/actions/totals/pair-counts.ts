import { sql } from 'kysely';
import { type ActionFilter, shapeOf } from '../action-filter.ts';
import { countOfPair } from './branches.ts';
import type { Groups } from './id-ranges.ts';
import { keptAtPosition } from './position-cache.ts';
import { kindsIn } from '../kinds.ts';
import type { Reading } from '../../reading.ts';
import { run } from '../../statement.ts';
import { haveHalf, type Stretch, stretchesAsRows, stretchesIn } from './ownership-ranges.ts';
import { blocksPerGroup } from './block-counters.ts';

/** How many actions of a kind an account finalized for the creator of a pair, among a group of ids. */
type Found = Readonly<{ account: string; group: string; kind: string | null; n: number }>;

/** So many rows are some megabytes. */
const mostRows = 50_000;
const keptPairs = keptAtPosition(() => ({ pairs: new Map<string, readonly Found[]>(), rows: 0 }));

/**
 * How many actions of a creator and of accounts are in the groups of ids that `stretches` have whole; undefined where they are to
 * be looked at one by one.
 *
 * No tally knows of a pair. All of its groups are counted when at least half of them are asked for, and kept while the position
 * stays: so no look reads more than about twice what it asks for, and the next ones at that position read next to nothing.
 */
export async function countInGroups(
  reading: Reading,
  filter: ActionFilter,
  stretches: readonly Stretch[],
): Promise<number | undefined> {
  const kept = keptPairs(reading);
  const accounts = [...new Map(stretches.map((stretch) => [stretch.account, stretch])).values()];
  const pair = [filter.creator, ...accounts.map(({ account }) => account)].join(' ');
  const known = kept.pairs.get(pair);
  if (known) return sum(known, filter, stretches);
  if (!(await haveHalf(reading, stretches, accounts.length))) return undefined;
  const { shape, given } = shapeOf({ creator: filter.creator, supernode: filter.supernode });
  const found = await run<Found>(reading, {
    shape: `pair ${reading.schemas.actions}`,
    text: () => sql`
      select own.account, found."group", found.kind, found.n from ${stretchesAsRows('pair')} own
      cross join lateral (${countOfPair(reading, shape, blocksPerGroup('account:'))}) found`,
    given: {
      ...given,
      ...stretchesIn(
        'pair',
        accounts.map((stretch) => ({ stretch, ids: undefined })),
      ),
    },
  });
  await reading.confirmed();
  if (kept.rows + found.length > mostRows) {
    kept.pairs.clear();
    kept.rows = 0;
  }
  kept.pairs.set(pair, found);
  kept.rows += found.length + 1;
  return sum(found, filter, stretches);
}

function sum(found: readonly Found[], { type, state }: ActionFilter, stretches: readonly Stretch[]): number {
  const isAnyKind = type === undefined && state === undefined;
  const kinds = kindsIn({ ...(type && { type }), ...(state && { state }) });
  const fits = ({ account, group, kind }: Found): boolean => {
    const own = BigInt(group);
    const isWhole = ({ first, last }: Groups): boolean => first <= own && own <= last;
    const isIn = (stretch: Stretch) => stretch.account === account && stretch.cover?.whole.some(isWhole) === true;
    return (isAnyKind || kinds.includes(kind)) && stretches.some(isIn);
  };
  return found.reduce((all, one) => (fits(one) ? all + one.n : all), 0);
}
