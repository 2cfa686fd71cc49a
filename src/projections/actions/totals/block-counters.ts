import { type RawBuilder, sql } from 'kysely';
import type { Groups } from './id-ranges.ts';
import { blockNameOf } from './height-extents.ts';
import type { Reading } from '../../reading.ts';
import { remembered } from './memoize.ts';
import { type Given, slot } from '../../statement.ts';
import type { ActionRow } from '../../tables.ts';

/** Whose actions are counted. */
export type Scope = 'all' | `creator:${string}` | `account:${string}`;

/** Names of counters from one on, up to but without another. */
export type Names = Readonly<{ from: string; until: string }>;

/** A kind of actions within a scope; any type or status where it is left out. */
type Cell = Readonly<{ type?: string | undefined; status?: string | undefined }>;

const coarse = 16n;
const allInGroups = `all${coarse}`;

/** A tally of one scope counts this many blocks of ids together: all actions are many, those of one creator few. */
export const blocksPerGroup = (scope: Scope): bigint => (scope === 'all' ? 1n : coarse);

/**
 * The counters by which lists are counted: for all, for the creator and for each account one per group of ids, type and status;
 * for all also one per coarse group, so that many blocks are few counters.
 *
 * Groups are written so that they sort as numbers of any size.
 *
 * @example ['all,010,sense,approved', 'all16,010,sense,approved', 'creator:lumera1c,010,sense,approved']
 */
export function tallyNames({ id, type, status, creator, accounts }: ActionRow): string[] {
  const { ofAll, inGroup } = within(cellOf(type, status), blockNameOf(id));
  const names = [...ofAll, ofCreator(inGroup, creator)];
  for (const account of accounts) names.push(ofAccount(inGroup, account));
  return names;
}

const cellOf = remembered((type: string, status: string) => `${type},${status}`);
const within = remembered((cell: string, block: string | number) => {
  const inGroup = `${sorting(BigInt(block) / coarse)},${cell}`;
  return { ofAll: [`all,${sorting(BigInt(block))},${cell}`, `${allInGroups},${inGroup}`], inGroup };
});
const ofCreator = remembered((inGroup: string, creator: string) => `creator:${creator},${inGroup}`);
const ofAccount = remembered((inGroup: string, account: string) => `account:${account},${inGroup}`);

/** All tallies of a scope. */
export const everyTally = (scope: Scope): Names => ({ from: `${scope},`, until: `${scope}-` });

/** The tallies of some groups of a scope. */
export function talliesOf(scope: Scope, { first, last }: Groups): Names[] {
  if (scope !== 'all') return between(scope, first, last);
  const [from, to] = [(first + coarse - 1n) / coarse, (last + 1n) / coarse - 1n];
  if (from > to) return between(scope, first, last);
  return [
    ...between(scope, first, from * coarse - 1n),
    ...between(allInGroups, from, to),
    ...between(scope, (to + 1n) * coarse, last),
  ];
}

const between = (scope: string, first: bigint, last: bigint): Names[] =>
  first > last ? [] : [{ from: `${scope},${sorting(first)}`, until: `${scope},${sorting(last)}-` }];

/** How the tallies of a kind end, as a pattern of `like`. */
export const kindOf = ({ type = '%', status = '%' }: Cell): string => `%,${type},${status}`;

/** The counters between the names of a slot as rows `name` and `n`, of the `kind` in the slot of that name where it is asked for. */
export function countersBetween({ schemas }: Reading, names: string, kind?: 'kind'): RawBuilder<unknown> {
  const fits = kind ? sql`and k.name like ${slot(kind)}` : sql``;
  return sql`${namesAsRows(names)} run cross join lateral (
    select k.name, k.n from ${sql.id(schemas.actions, 'counters')} k
    where k.name >= run.low collate "C" and k.name < run.high collate "C" ${fits} offset 0
  ) counter`;
}

/** The names in a slot as rows `low` and `high`. */
function namesAsRows(of: string): RawBuilder<unknown> {
  return sql`(
    select * from unnest(${slot(`${of}.from`)}::text[], ${slot(`${of}.until`)}::text[]) with ordinality as given (low, high, place)
  )`;
}

/** Fills the slot `of` with names. */
export const namesIn = (of: string, names: readonly Names[]): Given => ({
  [`${of}.from`]: names.map(({ from }) => from),
  [`${of}.until`]: names.map(({ until }) => until),
});

/** A number so that it sorts as one, whatever its size. */
export function sorting(number: bigint): string {
  const digits = String(number);
  return `${String(digits.length).padStart(2, '0')}${digits}`;
}
