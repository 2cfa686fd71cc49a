import { sql } from 'kysely';
import type { Reading } from '../reading.ts';
import type { UptimeDayRow, UptimeOpenRow } from '../tables.ts';

/** A closed day, and the sequence in UPTIME of the event that closed it. */
export type ClosedDayRow = UptimeDayRow & Readonly<{ position: number }>;

/** The closed days of one node within some, oldest first, and its open ones. */
export type NodeDays = Readonly<{
  closed: readonly ClosedDayRow[];
  /** Undefined where no probe of the node is known. */
  open: UptimeOpenRow | undefined;
  /** Whether anything of the node was ever probed or closed. */
  isKnown: boolean;
}>;

/** A listed node with the sums of its closed days within some, and what is not closed yet. */
export type NodeSums = Readonly<{
  node: string;
  up: number;
  down: number;
  probes: number;
  failed: number;
  /** The last of the closed days; null where none is. */
  last_day: string | null;
  open: UptimeOpenRow | null;
}>;

/** Days as texts such as 2026-11-21, both among them. */
export type DaySpan = Readonly<{ fromDay: string; toDay: string }>;

/** The time up to which probes were counted, of any node; undefined before the first one. */
export async function newestProbe({ db, schemas }: Reading): Promise<string | undefined> {
  const row = await db
    .withSchema(schemas.uptime_open)
    .selectFrom('uptime_open')
    .select(({ fn }) => fn.max<string | null>(fn('greatest', ['probed_at', 'counted_until'])).as('newest'))
    .executeTakeFirst();
  return row?.newest ?? undefined;
}

/** The closed days of a node within a span, oldest first, and its open ones. */
export async function daysOfNode(
  { db, schemas }: Reading,
  { node, fromDay, toDay }: DaySpan & Readonly<{ node: string }>,
): Promise<NodeDays> {
  const days = db.withSchema(schemas.uptime_days).selectFrom('uptime_days').where('node', '=', node);
  const closed = await days.selectAll().where('day', '>=', fromDay).where('day', '<=', toDay).orderBy('day').execute();
  const open = await db
    .withSchema(schemas.uptime_open)
    .selectFrom('uptime_open')
    .selectAll()
    .where('node', '=', node)
    .executeTakeFirst();
  const isKnown =
    closed.length > 0 || open !== undefined || (await days.select('day').executeTakeFirst()) !== undefined;
  return { closed, open, isKnown };
}

/** Every listed node with the sums of its closed days within a span, ordered by id bytewise. */
export async function sumsOfNodes({ db, schemas }: Reading, { fromDay, toDay }: DaySpan): Promise<NodeSums[]> {
  const { rows } = await sql<NodeSums>`
    select s.id as node, coalesce(d.up, 0)::int8 as up, coalesce(d.down, 0)::int8 as down,
      coalesce(d.probes, 0)::int8 as probes, coalesce(d.failed, 0)::int8 as failed,
      d.last_day, to_jsonb(o) as open
    from ${sql.id(schemas.supernodes, 'supernodes')} s
    left join (
      select node, sum(up_seconds) as up, sum(down_seconds) as down, sum(probes) as probes, sum(failed) as failed,
        max(day) as last_day
      from ${sql.id(schemas.uptime_days, 'uptime_days')} where day >= ${fromDay} and day <= ${toDay} group by node
    ) d on d.node = s.id
    left join ${sql.id(schemas.uptime_open, 'uptime_open')} o on o.node = s.id
    where not s.removed
    order by s.id
  `.execute(db);
  return [...rows];
}
