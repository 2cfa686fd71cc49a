import { sql } from 'kysely';
import { type ActionFilter, shapeOf } from '../action-filter.ts';
import { kindsIn } from '../kinds.ts';
import type { Reading } from '../../reading.ts';
import { run } from '../../statement.ts';
import { groupSpan } from './block-counters.ts';
import { countOfPair } from './branches.ts';
import { extentsOf } from './height-extents.ts';
import { type Blocks, countGroups } from './id-ranges.ts';
import { type OwnershipRange, rowRangesFrom, rowRangesIn } from './ownership-ranges.ts';
import { cachedAtPosition } from './position-cache.ts';

/** How many actions of a kind an account finalized for the creator of a pair, in the group that begins with a block. */
type PairCount = Readonly<{ account: string; block: string; kind: string | null; n: number }>;

/** So many rows are some megabytes. */
const mostRows = 50_000;
const cache = cachedAtPosition(() => ({ pairs: new Map<string, readonly PairCount[]>(), rows: 0 }));

/**
 * How many actions of a creator and of accounts are in whole groups of blocks; undefined where they are to be counted row by row.
 *
 * No counter is of a pair. All of its groups are counted when at least half of them are asked for, and cached while the position
 * stays: no statement reads more than about twice what is asked for, and the next ones at that position read next to nothing.
 */
export async function countOfWholeGroups(
  reading: Reading,
  filter: ActionFilter,
  owners: readonly OwnershipRange[],
): Promise<number | undefined> {
  const cached = cache(reading);
  const accounts = [...new Map(owners.map((owner) => [owner.address, owner])).values()];
  const pair = JSON.stringify([filter.creator, ...accounts.map(({ address }) => address)]);
  const before = cached.pairs.get(pair);
  if (before) return sum(before, filter, owners);
  if (!(await haveHalf(reading, owners, accounts.length))) return undefined;
  const { shape, given } = shapeOf({ creator: filter.creator, supernode: filter.supernode });
  const whole = accounts.map((owner) => ({ owner, ids: undefined }));
  const found = await run<PairCount>(reading, {
    shape: `pair ${reading.schemas.actions}`,
    text: () => sql`
      select own.account, found.block, found.kind, found.n from ${rowRangesFrom('pair')} own
      cross join lateral (${countOfPair(reading, shape, groupSpan)}) found`,
    given: { ...given, ...rowRangesIn('pair', whole) },
  });
  await reading.confirmed();
  if (cached.rows + found.length > mostRows) {
    cached.pairs.clear();
    cached.rows = 0;
  }
  cached.pairs.set(pair, found);
  cached.rows += found.length + 1;
  return sum(found, filter, owners);
}

/** Whether at least half of all groups, once for each account, are asked for whole. */
async function haveHalf(reading: Reading, owners: readonly OwnershipRange[], accounts: number): Promise<boolean> {
  const whole = owners.flatMap(({ ranges }) => ranges?.whole ?? []);
  const asked = whole.reduce((all, { first, last }) => all + Number(last - first + 1n) / groupSpan, 0);
  if (asked === 0) return false;
  return 2 * asked >= accounts * countGroups(await extentsOf(reading, 'registered'), groupSpan);
}

function sum(found: readonly PairCount[], { type, state }: ActionFilter, owners: readonly OwnershipRange[]): number {
  const isAnyKind = type === undefined && state === undefined;
  const kinds = kindsIn({ type, state });
  const fits = ({ account, block, kind }: PairCount): boolean => {
    const own = BigInt(block);
    const holds = ({ first, last }: Blocks): boolean => first <= own && own <= last;
    const isOwned = (owner: OwnershipRange) => owner.address === account && owner.ranges?.whole.some(holds) === true;
    return (isAnyKind || kinds.includes(kind)) && owners.some(isOwned);
  };
  return found.reduce((all, one) => (fits(one) ? all + one.n : all), 0);
}
