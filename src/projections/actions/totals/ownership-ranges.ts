import { type RawBuilder, sql } from 'kysely';
import type { ActionFilter } from '../action-filter.ts';
import { type Asked, countGroups, type Cover, coverOf, type Heights, type Ids } from './id-ranges.ts';
import { type Owned, ownedBy } from '../ownership.ts';
import { extentsOf } from './height-extents.ts';
import type { Reading } from '../../reading.ts';
import { type Given, slot } from '../../statement.ts';
import { blocksPerGroup, type Scope } from './block-counters.ts';

/**
 * A filter as it is looked for: each stretch is one scope, in which the matches are among the ids of its cover.
 *
 * An action is in one stretch at most. Without a cover there is no bound on the heights.
 */
export type Stretch = Readonly<{
  scope: Scope;
  account: string;
  finalized: Heights;
  cover?: Cover;
}>;

const anyHeight: Heights = { from: 0, to: Infinity };

/** Finds the stretches of a filter. */
export async function stretchesOf(reading: Reading, filter: ActionFilter): Promise<Stretch[]> {
  const { creator, supernode } = filter;
  if (!supernode) {
    const scope: Scope = creator === undefined ? 'all' : `creator:${creator}`;
    return await covered(reading, [{ scope, account: '', finalized: anyHeight }], filter);
  }
  const owned =
    'account' in supernode
      ? [{ account: supernode.account, ...anyHeight }]
      : await ownedBy(reading, supernode.operator);
  return await covered(reading, owned.map(stretchOf), filter);
}

/** What an account finalized while it was somebody's. */
export const stretchOf = ({ account, from, to }: Omit<Owned, 'operator'>): Stretch => ({
  scope: `account:${account}`,
  account,
  finalized: { from, to },
});

/** Stretches with their covers, where heights are bounded. */
export async function covered(
  reading: Reading,
  stretches: readonly Stretch[],
  filter: ActionFilter = {},
): Promise<Stretch[]> {
  const { fromHeight, toHeight } = filter;
  const isBounded = fromHeight !== undefined || toHeight !== undefined;
  const registered = isBounded
    ? [
        {
          extents: await extentsOf(reading, 'registered'),
          heights: { from: fromHeight ?? 0, to: toHeight ?? Infinity },
          unknownIsLast: false,
        },
      ]
    : [];
  const extents = stretches.some(isWithin) ? await extentsOf(reading, 'finalized') : [];
  return stretches.map((stretch) => {
    const finalized = isWithin(stretch) ? [{ extents, heights: stretch.finalized, unknownIsLast: true }] : [];
    const asked: Asked[] = [...registered, ...finalized];
    return asked.length === 0 ? stretch : { ...stretch, cover: coverOf(asked, blocksPerGroup(stretch.scope)) };
  });
}

/** Whether stretches of some accounts have at least half of all groups of ids whole. */
export async function haveHalf(reading: Reading, stretches: readonly Stretch[], accounts: number): Promise<boolean> {
  const whole = stretches.flatMap(({ cover }) => cover?.whole ?? []);
  const asked = whole.reduce((all, { first, last }) => all + Number(last - first) + 1, 0);
  if (asked === 0) return false;
  return 2 * asked >= accounts * countGroups(await extentsOf(reading, 'registered'), blocksPerGroup('account:'));
}

const isWithin = ({ finalized: { from, to } }: Stretch) => from > 0 || to < Infinity;

/** A stretch, of which those among some ids are looked at, all where none are told. */
export type Part = Readonly<{ stretch: Stretch; ids: Ids | undefined }>;

/** The stretches in a slot as rows: `account`, the ids `low` and `high` and the heights `since` and `until`, null where there is no bound. */
export function stretchesAsRows(of: string): RawBuilder<unknown> {
  return sql`(select * from unnest(
    ${slot(`${of}.account`)}::text[], ${slot(`${of}.low`)}::numeric[], ${slot(`${of}.high`)}::numeric[],
    ${slot(`${of}.since`)}::int8[], ${slot(`${of}.until`)}::int8[]
  ) with ordinality as given (account, low, high, since, until, place))`;
}

/** Fills the slot `of` with stretches. */
export const stretchesIn = (of: string, parts: readonly Part[]): Given => ({
  [`${of}.account`]: parts.map(({ stretch }) => stretch.account),
  [`${of}.low`]: parts.map(({ ids }) => ids?.low ?? null),
  [`${of}.high`]: parts.map(({ ids }) => ids?.high ?? null),
  [`${of}.since`]: parts.map(({ stretch: { finalized } }) => (finalized.from > 0 ? finalized.from : null)),
  [`${of}.until`]: parts.map(({ stretch: { finalized } }) => (finalized.to < Infinity ? finalized.to : null)),
});
