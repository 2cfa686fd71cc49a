import { type RawBuilder, sql } from 'kysely';
import type { Reading } from '../../reading.ts';
import { positionInput } from '../../relation.ts';
import { run, slot } from '../../statement.ts';
import { type ActionFilter, isPair } from '../action-filter.ts';
import { changesAt } from '../action-rows.ts';
import { kindsIn } from '../kinds.ts';
import { type CounterRange, groupSpan, isComplete } from './block-counters.ts';
import { idsPerBlock } from './height-extents.ts';

/** How many actions of a kind a creator registered and an account finalized among a group of blocks of ids. */
type PairCount = Readonly<{ account: string; block: string; kind: string | null; n: number }>;

/** The counts of a creator with some accounts by account, block and kind, as they are at a position. */
type PairCounts = Readonly<{ sequence: number; counts: ReadonlyMap<string, PairCount> }>;

/** Of fewer actions the rows are counted each time, which costs less than to read what changed. */
const fewestCached = 256;
/** So many facts later all rows are counted anew. */
const farBehind = 2000;
/** So many pairs are cached, those that were not read for longest evicted first; each takes some 50 kB at most. */
const mostCached = 200;

const cache = new WeakMap<object, Map<string, PairCounts>>();

/**
 * How many actions of a pair match within the ranges of counters that would hold them; 0 where the filter is no pair.
 *
 * There is no table of such counters, for most pairs have one action. The counts of large pairs are cached for each
 * database instead: at a later position they are those of an earlier one, and what the facts in between changed.
 */
export async function countPair(
  reading: Reading,
  filter: ActionFilter,
  ranges: readonly CounterRange[],
): Promise<number> {
  if (!isPair(filter) || ranges.length === 0) return 0;
  const accounts = [...new Set(ranges.map(({ address }) => address))].toSorted();
  const counts = [...(await countsOf(reading, { creator: filter.creator ?? '', accounts })).values()];
  const kinds = filter.type === undefined && filter.state === undefined ? undefined : kindsIn(filter);
  const within = (range: CounterRange) =>
    counts.filter(
      ({ account, block, kind }) =>
        account === range.address &&
        (kinds === undefined || (kind !== null && kinds.includes(kind))) &&
        (isComplete(range) || (BigInt(block) >= range.first && BigInt(block) <= range.last)),
    );
  return ranges.flatMap(within).reduce((sum, { n }) => sum + n, 0);
}

type Pair = Readonly<{ creator: string; accounts: readonly string[] }>;

async function countsOf(reading: Reading, pair: Pair): Promise<ReadonlyMap<string, PairCount>> {
  const { reader, schemas, followed } = reading;
  const { incarnation, sequence } = followed.actions;
  const cached = cache.get(reader) ?? new Map<string, PairCounts>();
  cache.set(reader, cached);
  const key = JSON.stringify([schemas.actions, incarnation, pair.creator, ...pair.accounts]);
  const known = cached.get(key);
  const isNear = known !== undefined && known.sequence <= sequence && known.sequence + farBehind >= sequence;
  if (isNear && known.sequence === sequence) return known.counts;
  const counts = isNear
    ? added(known.counts, await changedCounts(reading, pair, known.sequence))
    : added(new Map(), await allCounts(reading, pair));
  const latest = cached.get(key);
  if (latest && latest.sequence > sequence) return counts;
  cached.delete(key);
  if (actionsIn(counts) >= fewestCached) cached.set(key, { sequence, counts });
  for (const first of cached.keys()) {
    if (cached.size <= mostCached) break;
    cached.delete(first);
  }
  return counts;
}

const actionsIn = (counts: ReadonlyMap<string, PairCount>): number =>
  [...counts.values()].reduce((sum, { n }) => sum + n, 0);

function added(counts: ReadonlyMap<string, PairCount>, more: readonly PairCount[]): ReadonlyMap<string, PairCount> {
  if (more.length === 0) return counts;
  const sums = new Map(counts);
  for (const one of more) {
    const key = `${one.account} ${one.block} ${one.kind}`;
    const n = (sums.get(key)?.n ?? 0) + one.n;
    if (n === 0) sums.delete(key);
    else sums.set(key, { ...one, n });
  }
  return sums;
}

const groupOf = (id: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`(div(${id}, ${sql.lit(idsPerBlock * groupSpan)}) * ${sql.lit(groupSpan)})::text`;

/** Counts the rows of a pair by the index of pairs. */
const allCounts = async (reading: Reading, { creator, accounts }: Pair): Promise<readonly PairCount[]> =>
  await run<PairCount>(reading, {
    shape: `pair ${reading.schemas.actions}`,
    text: () => sql`
      select own.account, found.* from unnest(${slot('accounts')}::text[]) own (account) cross join lateral (
        select ${groupOf(sql`m.id`)} as block, m.kind, count(*)::int8 as n
        from ${sql.id(reading.schemas.actions, 'action_accounts')} m
        where m.pair = hashtextextended(${slot('creator')}::text || ' ' || own.account, 0)
          and m.pair_again = hashtextextended(${slot('creator')}::text || ' ' || own.account, 1)
        group by 1, 2
      ) found`,
    given: { creator, accounts },
  });

/** What the facts after a position changed in the counts. */
const changedCounts = async (
  reading: Reading,
  { creator, accounts }: Pair,
  after: number,
): Promise<readonly PairCount[]> =>
  await run<PairCount>(reading, {
    shape: `changed pair ${reading.schemas.actions}`,
    text: () => sql`
      select own.account, ${groupOf(sql`m.id`)} as block, m.kind, (-sum(m.sign))::int8 as n
      from ${changesAt(reading, 'head', ['id', 'kind', 'creator', 'accounts'])} m
      join unnest(${slot('accounts')}::text[]) own (account) on m.accounts ? own.account
      where m.creator = ${slot('creator')}::text collate "C"
      group by 1, 2, 3 having sum(m.sign) <> 0`,
    given: { creator, accounts, ...positionInput(reading, 'actions', after) },
  });
