import { type RawBuilder, sql } from 'kysely';
import { kindOf } from '../kinds.ts';
import type { Count, Counters } from '../../projection.ts';
import type { Reading } from '../../reading.ts';
import { type Input, slot } from '../../statement.ts';
import type { ActionRow } from '../../tables.ts';
import { blockOf } from './height-extents.ts';
import type { Blocks } from './id-ranges.ts';

/**
 * Whose actions are counted: all, those of a creator, or those that an account finalized; the address of `all` is
 * empty.
 */
export type CounterScope = Readonly<{ scope: 'all' | 'creator' | 'account'; address: string }>;

/** Counters of one scope and span, from one block to another, both included. */
export type CounterRange = CounterScope & Readonly<{ span: number; first: bigint; last: bigint }>;

/** So many blocks are counted together in a group. */
export const groupSpan = 16;
/** The span of counters of all ids; their block is 0. */
const completeSpan = 0;

/**
 * How many actions of a kind there are among `span` blocks of ids, from `block` on, by scope.
 *
 * Of all actions there are counters of single blocks, of groups and of all ids; of a creator or an account, whose
 * actions are few, there are none of single blocks.
 */
export const blockCounters: Counters<ActionRow> = {
  table: {
    name: 'block_counters',
    columns: { scope: 'text', span: 'int4', address: 'text', block: 'numeric', kind: 'text', n: 'int8' },
    key: ['scope', 'span', 'address', 'block', 'kind'],
  },
  counts: blockCounts,
};

/** The span of the smallest counters of a scope. */
export const smallestSpan = ({ scope }: CounterScope): number => (scope === 'all' ? 1 : groupSpan);

/** The block counters that an action adds one to. */
function blockCounts({ id, type, status, creator, accounts }: ActionRow): Count[] {
  const kind = kindOf(type, status);
  const block = blockOf(id);
  const group = blockOf(id, groupSpan);
  const one = (scope: CounterScope['scope'], address: string, span: number, first: number | string) => ({
    scope,
    span,
    address,
    block: first,
    kind,
    n: 1,
  });
  const grouped = (scope: CounterScope['scope'], address: string): Count[] => [
    one(scope, address, groupSpan, group),
    one(scope, address, completeSpan, 0),
  ];
  return [
    one('all', '', 1, block),
    ...grouped('all', ''),
    ...grouped('creator', creator),
    ...accounts.flatMap((account) => grouped('account', account)),
  ];
}

const groupBlocks = BigInt(groupSpan);

const firstOfGroup = (block: bigint): bigint => block - (block % groupBlocks);

/** Returns whether counters are those of all ids. */
export const isComplete = ({ span }: CounterRange): boolean => span === completeSpan;

/** The counters of all ids of a scope. */
export const completeRange = (scope: CounterScope): CounterRange => ({
  ...scope,
  span: completeSpan,
  first: 0n,
  last: 0n,
});

/**
 * The fewest counters that cover some blocks of a scope; where its smallest counters are of groups, the blocks are
 * complete groups.
 */
export function counterRanges(scope: CounterScope, { first, last }: Blocks): CounterRange[] {
  const from = firstOfGroup(first + groupBlocks - 1n);
  const to = firstOfGroup(last + 1n) - 1n;
  const ranges =
    from > to
      ? [{ ...scope, span: smallestSpan(scope), first, last }]
      : [
          { ...scope, span: smallestSpan(scope), first, last: from - 1n },
          { ...scope, span: groupSpan, first: from, last: to },
          { ...scope, span: smallestSpan(scope), first: to + 1n, last },
        ];
  return ranges.filter((range) => range.first <= range.last);
}

/**
 * The counters of the ranges in a slot as rows `place` (the range's index), `kind` and `n`; `ofKinds` limits them to
 * the kinds in the slot `kinds`.
 */
export function countersIn(
  { schemas }: Reading,
  ranges: string,
  { ofKinds }: { ofKinds: boolean },
): RawBuilder<unknown> {
  const ofRange = (column: string) => slot(`${ranges}.${column}`);
  const fits = ofKinds ? sql`and counter.kind = any (${slot('kinds')}::text[])` : sql``;
  return sql`
    select range.place, found.kind, found.n
    from unnest(${ofRange('scope')}::text[], ${ofRange('span')}::int4[], ${ofRange('address')}::text[],
      ${ofRange('first')}::numeric[], ${ofRange('last')}::numeric[])
      with ordinality as range (scope, span, address, first, last, place)
    cross join lateral (
      select counter.kind, counter.n from ${sql.id(schemas.actions, blockCounters.table.name)} counter
      where counter.scope = range.scope collate "C" and counter.span = range.span
        and counter.address = range.address collate "C"
        and counter.block >= range.first and counter.block <= range.last ${fits}
      offset 0
    ) found`;
}

/** The counters of all ids of every address of a scope as rows `address`, `kind` and `n`. */
export const completeCounters = ({ schemas }: Reading, scope: CounterScope['scope']): RawBuilder<unknown> => sql`
  select address, kind, n from ${sql.id(schemas.actions, blockCounters.table.name)}
  where scope = ${scope}::text collate "C" and span = ${sql.lit(completeSpan)} offset 0`;

/** Fills the slot `of` with ranges. */
export const rangesIn = (of: string, ranges: readonly CounterRange[]): Input => ({
  [`${of}.scope`]: ranges.map(({ scope }) => scope),
  [`${of}.span`]: ranges.map(({ span }) => span),
  [`${of}.address`]: ranges.map(({ address }) => address),
  [`${of}.first`]: ranges.map(({ first }) => String(first)),
  [`${of}.last`]: ranges.map(({ last }) => String(last)),
});
