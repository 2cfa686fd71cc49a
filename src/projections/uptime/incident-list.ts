import { type RawBuilder, sql } from 'kysely';
import type { Reading } from '../reading.ts';
import type { IncidentRow } from '../tables.ts';

/** An incident, and the sequence in UPTIME of the last event that holds it; null where no day holds it yet. */
export type ListedIncident = IncidentRow & Readonly<{ event: number | null }>;

/** Which incidents to list; what is left out does not matter. */
export type IncidentFilter = Readonly<{
  node?: string | undefined;
  state?: 'open' | 'ended' | undefined;
  /** RFC 3339, UTC, to the second: those that were open at or after `from` and started before `to`. */
  from?: string | undefined;
  to?: string | undefined;
}>;

/** The position of a walk, newest first: the last incident shown. */
export type IncidentPosition = Readonly<{ startedAt: string; node: string }>;

type IncidentPage = IncidentFilter & Readonly<{ after?: IncidentPosition | undefined; limit: number }>;

/**
 * A page of incidents, newest first, of any node that was ever probed.
 *
 * What ended on a closed day is as that day has it; what goes on, or ended since, is as the last probe has it.
 */
export async function listIncidents(
  reading: Reading,
  { after, limit, ...filter }: IncidentPage,
): Promise<Readonly<{ rows: ListedIncident[]; hasMore: boolean }>> {
  const beyond = after ? sql`(started_at, node) < (${after.startedAt}, ${after.node})` : sql`true`;
  const { rows } = await sql<ListedIncident>`
    select node, started_at, ended_at, failures, ports, status_answers, event from (${incidents(reading, filter.node)}) one
    where ${conditions(filter)} and ${beyond}
    order by started_at desc, node desc limit ${limit + 1}
  `.execute(reading.db);
  return { rows: rows.slice(0, limit), hasMore: rows.length > limit };
}

function conditions({ state, from, to }: IncidentFilter): RawBuilder<unknown> {
  const all = [
    state === undefined ? [] : state === 'open' ? sql`ended_at is null` : sql`ended_at is not null`,
    from === undefined ? [] : sql`coalesce(ended_at, '9999') >= ${from}`,
    to === undefined ? [] : sql`started_at < ${to}`,
  ].flat();
  return all.length > 0 ? sql.join(all, sql` and `) : sql`true`;
}

/** Those of probes that no closed day knows the end of, and all others of closed days. */
function incidents({ schemas }: Reading, node: string | undefined): RawBuilder<unknown> {
  const days = sql.id(schemas.uptime_days, 'uptime_days');
  const closed = sql.id(schemas.incidents, 'incidents');
  const of = (column: string) => (node === undefined ? sql`true` : sql`${sql.ref(column)} = ${node}`);
  return sql`
    with current as (
      select o.node, one->>'startedAt' as started_at, one->>'endedAt' as ended_at, (one->>'failures')::int8 as failures,
        one->'ports' as ports, one->'statusAnswers' as status_answers
      from ${sql.id(schemas.uptime_open, 'uptime_open')} o cross join lateral jsonb_array_elements(o.incidents) one
      left join lateral (select max(day) as day from ${days} d where d.node = o.node) last on true
      where ${of('o.node')} and (one->>'endedAt' is null or left(one->>'endedAt', 10) > coalesce(last.day, ''))
    )
    select current.*, i.position as event
    from current left join ${closed} i on i.node = current.node and i.started_at = current.started_at
    union all
    select i.node, i.started_at, i.ended_at, i.failures, i.ports, i.status_answers, i.position as event
    from ${closed} i
    where ${of('i.node')} and not exists (
      select from current where current.node = i.node and current.started_at = i.started_at)`;
}
