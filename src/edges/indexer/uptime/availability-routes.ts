import { type Static, Type } from 'typebox';
import { timeOfSecond, uptimeDefinition } from '../../../commands/uptime/definition.ts';
import { AppError } from '../../../kit/errors.ts';
import { DaysOfNode, NewestProbe, SumsOfNodes } from '../../../projections/uptime/queries.ts';
import type { Walk } from '../../http/cursor.ts';
import { requireOrder, shown } from '../../http/parameters.ts';
import { isInOrder } from '../../http/instant.ts';
import { type App, readAnswers, readRequestHeaders } from '../../http/schema.ts';
import { operatorAddress } from '../rest/addresses.ts';
import type { RouteDependencies } from '../rest/dependencies.ts';
import { existing } from '../rest/supernode-views.ts';
import { availabilityOf, fleetItemOf } from './availability-view.ts';
import * as schemas from './uptime-schemas.ts';
import { daysOf, readWindow, type UptimeWindow, type WindowParameters } from './window.ts';

const tags = ['Uptime'];
const params = Type.Object({ id: operatorAddress });
const ofUptime = { projections: ['supernodes', 'availability', 'validators', 'uptime_days', 'uptime_open'] } as const;
const scope = { ...ofUptime, sources: ['supernodes'] } as const;
const mostHourlySeconds = 31 * 86_400;

/** `/v1/supernodes/{id}/availability` and `/v1/supernodes/availability`. */
export function availabilityRoutes(app: App, dependencies: RouteDependencies): void {
  addNode(app, dependencies);
  addFleet(app, dependencies);
}

function addNode(app: App, { read }: RouteDependencies): void {
  const schema = {
    tags,
    operationId: 'superNodeAvailability',
    summary: 'How much of the time a SuperNode was available',
    description:
      'Seconds up, down and unknown, which add up to the window, by days or hours. Of a day that is closed its event is named, which outlives the probes.',
    params,
    querystring: schemas.nodeUptimeQuery,
    headers: readRequestHeaders,
    response: readAnswers('The availability.', schemas.nodeUptime.ref, 400, 404),
  };
  app.get('/v1/supernodes/:id/availability', { schema }, async ({ params: { id }, query }, reply) => {
    requireWindowOrder(query);
    return await read(reply, scope, async (snapshot) => {
      const window = windowOf(query, await snapshot.ask(new NewestProbe({})));
      if (query.resolution === '1h' && window.to - window.from > mostHourlySeconds)
        throw new AppError('INVALID_ARGUMENT', 'resolution 1h goes with a window of 31 days at most.');
      const days = id.includes('\0') ? undefined : await snapshot.ask(new DaysOfNode({ node: id, ...daysOf(window) }));
      if (!days?.isKnown) await existing(snapshot, id);
      const known = days ?? { closed: [], open: undefined, isKnown: false };
      return availabilityOf(id, known, { window, resolution: query.resolution });
    });
  });
}

function addFleet(app: App, { read, cursors }: RouteDependencies): void {
  const schema = {
    tags,
    operationId: 'fleetAvailability',
    summary: 'How much of the time each SuperNode was available',
    description: 'Every SuperNode of the chain’s list. `cursor` leads to the next page.',
    querystring: schemas.fleetUptimeQuery,
    headers: readRequestHeaders,
    response: readAnswers('A page of SuperNodes.', schemas.fleetUptime.ref, 400),
  };
  app.get('/v1/supernodes/availability', { schema }, async ({ query }, reply) => {
    const { limit, cursor, min_height: _, ...filters } = query;
    requireWindowOrder(filters);
    const leastCoverage = readCoverage(filters.min_coverage);
    const walk: Walk = { list: 'availability', filters };
    const position = cursor === undefined ? undefined : cursors.open(walk, cursor);
    return await read(reply, scope, async ({ ask }) => {
      const newest = await ask(new NewestProbe({}));
      const window = windowOf(filters, newest);
      const nodes = await ask(new SumsOfNodes(daysOf(window)));
      const all = nodes
        .map((node) => fleetItemOf(node, window))
        .filter(({ coverage }) => (coverage ?? 0) >= leastCoverage)
        .toSorted((a, b) => comesBefore(orderOf(a, filters.sort), orderOf(b, filters.sort)));
      const after = position && readOrder(position.after);
      const rest = after ? all.filter((one) => comesBefore(after, orderOf(one, filters.sort)) < 0) : all;
      const page = rest.slice(0, limit);
      const last = page.at(-1);
      const next = { after: JSON.stringify(last && orderOf(last, filters.sort)), pages: (position?.pages ?? 0) + 1 };
      return {
        definition: uptimeDefinition,
        from: newest === undefined ? null : timeOfSecond(window.from),
        to: newest === undefined ? null : timeOfSecond(window.to),
        supernodes: page,
        total: all.length,
        ...(rest.length > limit && last ? { cursor: cursors.seal(walk, next) } : {}),
      };
    });
  });
}

/** Where no probe is known, a window of no length at the start of 1970. */
function windowOf(query: WindowParameters, newest: string | undefined): UptimeWindow {
  return readWindow(query, newest) ?? { from: 0, to: 0 };
}

function requireWindowOrder({ from, to }: WindowParameters): void {
  if (from && to) requireOrder('from', 'to', isInOrder(from, to));
}

function readCoverage(text: string | undefined): number {
  if (text === undefined) return 0;
  const coverage = /^(?:0|1|0?\.\d{1,9}|1\.0{1,9})$/.test(text) ? Number(text) : -1;
  if (coverage < 0)
    throw new AppError(
      'INVALID_ARGUMENT',
      `min_coverage is ${shown(text)}; it takes a number from 0 to 1, such as 0.9.`,
    );
  return coverage;
}

type Order = readonly [availability: number, id: string];

/** Those of which nothing is known come last. */
function orderOf({ id, availability }: Static<typeof schemas.fleetUptimeItem>, sort: 'availability' | 'id'): Order {
  return [sort === 'id' ? 0 : (availability ?? 2), id];
}

function readOrder(text: string): Order {
  const [availability, id] = JSON.parse(text) as Order;
  return [availability, id];
}

function comesBefore([one, id]: Order, [other, otherId]: Order): number {
  return one - other || (id < otherId ? -1 : Number(id > otherId));
}
