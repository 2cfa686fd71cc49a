import { type RawBuilder, sql } from 'kysely';
import { type BucketCell, cellsOf, splitTimes } from './totals/buckets.ts';
import { counterName } from './totals/counter-names.ts';
import type { Reading } from '../reading.ts';
import { run, slot } from '../statement.ts';
import type { ActionRow } from '../tables.ts';
import { namesIn } from './totals/block-counters.ts';

/** Which actions to count; `from` and `to` are written as `created_at` is, to the second in UTC, both ends included. */
export type StatsFilter = Readonly<{ type?: string | undefined; from?: string | undefined; to?: string | undefined }>;

/** Registered, finalized and approved add up to the total, as cascade and sense do; the expired are among the registered. */
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
  const text = () => sql`select * from ${sql.id(actions, 'actions')} where id = ${slot('id')}::numeric`;
  const [action] = await run<ActionRow>(reading, { shape: `action ${actions}`, text, given: { id } });
  return action;
}

/**
 * How many actions there are by type, status and expiry; equal to the totals of the list.
 *
 * Without a window from the counters. An action of unknown time is in no window.
 */
export async function actionStats(reading: Reading, { type, from, to }: StatsFilter): Promise<ActionStats> {
  if (from === undefined && to === undefined) return fromCounters(reading, type);
  const { buckets, edges } = splitTimes(from, to);
  const rows = await run<BucketCell>(reading, {
    shape: `window ${reading.schemas.actions} ${edges.length} ${type !== undefined}`,
    text: () => sql`
      select type, status, expired, sum(n)::int8 as n from (${inWindow(reading, edges.length)}) cell
      where ${type === undefined ? sql`true` : sql`type = ${slot('type')}`} group by 1, 2, 3
    `,
    given: {
      type,
      ...namesIn('buckets', buckets),
      ...Object.fromEntries(
        edges.flatMap((edge, at) => [
          [`edge.${at}.from`, edge.from ?? ''],
          [`edge.${at}.to`, edge.to ?? '~'],
        ]),
      ),
    },
  });
  const count = (fits: (cell: BucketCell) => boolean) => rows.filter(fits).reduce((sum, cell) => sum + cell.n, 0);
  return {
    total: count(() => true),
    cascade: count((cell) => cell.type === 'cascade'),
    sense: count((cell) => cell.type === 'sense'),
    registered: count((cell) => cell.status === 'registered'),
    finalized: count((cell) => cell.status === 'finalized'),
    approved: count((cell) => cell.status === 'approved'),
    expired: count((cell) => cell.expired),
  };
}

/** What was created in a window: whole days from their counters, the days of its ends counted. */
function inWindow(reading: Reading, edges: number): RawBuilder<unknown> {
  const counts = Array.from(
    { length: edges },
    (_, at) => sql`
      select type, status, chain_state = 'expired' as expired, count(*) as n
      from ${sql.id(reading.schemas.actions, 'actions')}
      where created_at >= ${slot(`edge.${at}.from`)} and created_at <= ${slot(`edge.${at}.to`)} group by 1, 2, 3`,
  );
  return sql.join([cellsOf(reading, 'buckets'), ...counts], sql` union all `);
}

async function fromCounters({ db, schemas }: Reading, type?: string): Promise<ActionStats> {
  const ofType = (one: string) => (type === undefined || type === one ? counterName({ type: one }) : 'none');
  const names = {
    total: counterName({ type }),
    cascade: ofType('cascade'),
    sense: ofType('sense'),
    registered: counterName({ type, status: 'registered' }),
    finalized: counterName({ type, status: 'finalized' }),
    approved: counterName({ type, status: 'approved' }),
    expired: type === undefined ? 'expired' : `expired,type:${type}`,
  };
  const counters = await db
    .withSchema(schemas.actions)
    .selectFrom('counters')
    .selectAll()
    .where('name', 'in', Object.values(names))
    .execute();
  const count = (name: string) => counters.find((counter) => counter.name === name)?.n ?? 0;
  return {
    total: count(names.total),
    cascade: count(names.cascade),
    sense: count(names.sense),
    registered: count(names.registered),
    finalized: count(names.finalized),
    approved: count(names.approved),
    expired: count(names.expired),
  };
}
