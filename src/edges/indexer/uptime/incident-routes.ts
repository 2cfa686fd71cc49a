import { type Static, Type } from 'typebox';
import { secondOf, uptimeDefinition } from '../../../commands/uptime/definition.ts';
import type { IncidentPosition, ListedIncident } from '../../../projections/uptime/incident-list.ts';
import { ListIncidents } from '../../../projections/uptime/queries.ts';
import type { Walk } from '../../http/cursor.ts';
import { isInOrder, secondFrom } from '../../http/instant.ts';
import { requireOrder } from '../../http/parameters.ts';
import { type App, errors, readAnswers, readRequestHeaders } from '../../http/schema.ts';
import { operatorAddress } from '../rest/addresses.ts';
import type { RouteDependencies } from '../rest/dependencies.ts';
import type { ReadSnapshot } from '../rest/reads.ts';
import { existing } from '../rest/supernode-views.ts';
import { incidentList, incidentQuery } from './uptime-schemas.ts';

type IncidentRequest = Static<typeof incidentQuery>;
type Incident = Static<typeof incidentList.schema>['incidents'][number];

const tags = ['Uptime'];
const projections = ['supernodes', 'availability', 'validators', 'uptime_days', 'incidents', 'uptime_open'] as const;
const scope = { projections, sources: ['supernodes'] } as const;
const description =
  'Two failed probes in a row or more, from the first of them to the next that passed; newest first. `cursor` leads to the next page.';

/** `/v1/incidents` and `/v1/supernodes/{id}/incidents`. */
export function incidentRoutes(app: App, { read, cursors }: RouteDependencies): void {
  const page = async ({ ask }: Pick<ReadSnapshot, 'ask'>, query: IncidentRequest, node?: string) => {
    const { limit, cursor, min_height: _, ...filters } = query;
    const walk: Walk = { list: 'incidents', filters: { ...filters, node } };
    const position = cursor === undefined ? undefined : cursors.open(walk, cursor);
    const after = position && (JSON.parse(position.after) as IncidentPosition);
    const { state, from, to } = filters;
    const bounds = { from: from && secondFrom(from), to: to && secondFrom(to) };
    const { rows, hasMore } = await ask(new ListIncidents({ node, state, ...bounds, after, limit }));
    const last = rows.at(-1);
    const next = last && JSON.stringify({ startedAt: last.started_at, node: last.node });
    return {
      definition: uptimeDefinition,
      incidents: rows.map(incidentOf),
      ...(hasMore && next ? { cursor: cursors.seal(walk, { after: next, pages: (position?.pages ?? 0) + 1 }) } : {}),
    };
  };
  const schema = {
    tags,
    operationId: 'listIncidents',
    summary: 'Incidents of all SuperNodes',
    description,
    querystring: incidentQuery,
    headers: readRequestHeaders,
    response: readAnswers('A page of incidents.', incidentList.ref, 400),
  };
  app.get('/v1/incidents', { schema }, async ({ query }, reply) => {
    requireSpan(query);
    return await read(reply, scope, async (snapshot) => await page(snapshot, query));
  });
  const ofNode = {
    ...schema,
    operationId: 'superNodeIncidents',
    summary: 'Incidents of one SuperNode',
    params: Type.Object({ id: operatorAddress }),
    response: { ...schema.response, ...errors(400, 404) },
  };
  app.get('/v1/supernodes/:id/incidents', { schema: ofNode }, async ({ params: { id }, query }, reply) => {
    requireSpan(query);
    return await read(reply, scope, async (snapshot) => {
      if (id.includes('\0')) await existing(snapshot, id);
      const match = await page(snapshot, query, id);
      if (match.incidents.length === 0) await existing(snapshot, id);
      return match;
    });
  });
}

function requireSpan({ from, to }: Pick<IncidentRequest, 'from' | 'to'>): void {
  if (from && to) requireOrder('from', 'to', isInOrder(from, to));
}

function incidentOf(one: ListedIncident): Incident {
  const { node, started_at, ended_at, failures, ports, status_answers, event } = one;
  return {
    id: node,
    state: ended_at === null ? 'open' : 'ended',
    started_at,
    ended_at,
    duration_seconds: ended_at === null ? null : secondOf(ended_at) - secondOf(started_at),
    failed_probes: failures,
    ports: ports.map(({ port, outcome }) => ({ port, outcome })),
    status_answers: [...status_answers],
    event: event === null ? null : `/log/UPTIME/events/${event}`,
  };
}
