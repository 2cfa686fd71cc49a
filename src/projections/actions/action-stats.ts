import { type RawBuilder, sql } from 'kysely';
import { type CountedFrom, changesAt, nearerEnd } from './action-rows.ts';
import { actionTable } from './action-tables.ts';
import { kindsIn, otherKind } from './kinds.ts';
import { columnsOf } from '../columns.ts';
import type { Reading } from '../reading.ts';
import { positionInput, positionOf } from '../relation.ts';
import { run, slot } from '../statement.ts';
import type { ActionRow } from '../tables.ts';
import { periodsIn, splitWindow, windowCountersIn } from './totals/window-counters.ts';

/** Which actions to count; `from` and `to` are written as `created_at` is, to the second in UTC, both ends included. */
export type StatsFilter = Readonly<{ type?: string | undefined; from?: string | undefined; to?: string | undefined }>;

/**
 * Registered, finalized and approved add up to the total, as cascade and sense do; the expired are among the
 * registered.
 */
export type ActionStats = Readonly<{
  total: number;
  cascade: number;
  sense: number;
  registered: number;
  finalized: number;
  approved: number;
  expired: number;
}>;

/** One action, or undefined where there is none of that id. An id is decimal text without leading zeros. */
export async function actionById(reading: Reading, id: string): Promise<ActionRow | undefined> {
  if (!/^(0|[1-9]\d*)$/.test(id)) return undefined;
  const { actions } = reading.schemas;
  const at = positionOf(reading, 'actions');
  if (at !== undefined) return await actionAt(reading, id, at);
  const text = () => sql`select * from ${sql.id(actions, 'actions')} where id = ${slot('id')}::numeric`;
  const [action] = await run<ActionRow>(reading, { shape: `action ${actions}`, text, given: { id } });
  return action;
}

/** The version of an action that was there at a position: the live row or a superseded one. */
async function actionAt(reading: Reading, id: string, at: number): Promise<ActionRow | undefined> {
  const { actions } = reading.schemas;
  const columns = columnsOf(actionTable, 'version');
  const text = () => sql`
    select ${columns} from ${sql.id(actions, 'actions')} version
    where id = ${slot('id')}::numeric and position <= ${slot('at')}::int8
    union all select ${columns} from ${sql.id(actions, 'actions_past')} version
    where id = ${slot('id')}::numeric and position <= ${slot('at')}::int8 and until > ${slot('at')}::int8`;
  const [action] = await run<ActionRow>(reading, { shape: `action at ${actions}`, text, given: { id, at } });
  return action;
}

/** Actions of a kind, expired or not. */
type KindCount = Readonly<{ kind: string; expired: boolean; n: number }>;

/**
 * How many actions there are by type, status and expiry; equal to the totals of the list.
 *
 * Complete days and months, or all actions, are added up from counters. An action of unknown time is in no window.
 */
export async function actionStats(reading: Reading, { type, from, to }: StatsFilter): Promise<ActionStats> {
  const at = positionOf(reading, 'actions');
  const end = at === undefined ? undefined : nearerEnd(reading, at);
  const { periods, edges } = end === 'start' ? { periods: [], edges: [] } : splitWindow(from, to);
  const changes = end === undefined ? sql`` : sql` union all ${changedInWindow(reading, end)}`;
  const rows = await run<KindCount>(reading, {
    shape: `window ${reading.schemas.actions} ${edges.length} ${type !== undefined} ${end ?? ''}`,
    text: () => sql`
      select kind, expired, sum(n)::int8 as n from (${inWindow(reading, edges.length)}${changes}) counted
      where ${type === undefined ? sql`true` : sql`kind = any (${slot('kinds')}::text[])`} group by 1, 2
    `,
    given: {
      kinds: kindsIn({ type }),
      from: from ?? null,
      to: to ?? null,
      ...(at === undefined ? {} : positionInput(reading, 'actions', at)),
      ...periodsIn('periods', periods),
      ...Object.fromEntries(
        edges.flatMap((edge, number) => [
          [`edge.${number}.from`, edge.from ?? ''],
          [`edge.${number}.to`, edge.to ?? '~'],
        ]),
      ),
    },
  });
  const count = (fits: (one: KindCount) => boolean) => rows.filter(fits).reduce((sum, { n }) => sum + n, 0);
  const ofKinds = (request: Parameters<typeof kindsIn>[0]) => {
    const kinds = kindsIn(request);
    return count(({ kind }) => kinds.includes(kind));
  };
  return {
    total: count(() => true),
    cascade: ofKinds({ type: 'cascade' }),
    sense: ofKinds({ type: 'sense' }),
    registered: ofKinds({ state: 'registered' }),
    finalized: ofKinds({ state: 'finalized' }),
    approved: ofKinds({ state: 'approved' }),
    expired: count(({ expired }) => expired),
  };
}

/** What leads from the counts at one end of history to those of a position, as rows `kind`, `expired` and `n`. */
function changedInWindow(reading: Reading, end: CountedFrom): RawBuilder<unknown> {
  return sql`
    select coalesce(m.kind::text, ${sql.lit(otherKind)}), m.chain_state = 'expired', sum(m.sign)
    from ${changesAt(reading, end, ['kind', 'chain_state', 'created_at'])} m
    where (${slot('from')}::text is null or m.created_at >= ${slot('from')}::text collate "C")
      and (${slot('to')}::text is null or m.created_at <= ${slot('to')}::text collate "C") group by 1, 2`;
}

/** The actions created in a window as rows `kind`, `expired` and `n`: from counters, and the rows of the edges. */
function inWindow(reading: Reading, edges: number): RawBuilder<unknown> {
  const counts = Array.from(
    { length: edges },
    (_, at) => sql`
      select coalesce(kind::text, ${sql.lit(otherKind)}) as kind, chain_state = 'expired' as expired, count(*) as n
      from ${sql.id(reading.schemas.actions, 'actions')}
      where created_at >= ${slot(`edge.${at}.from`)} and created_at <= ${slot(`edge.${at}.to`)} group by 1, 2`,
  );
  return sql.join([windowCountersIn(reading, 'periods'), ...counts], sql` union all `);
}
