import { displayHost } from '../../../projections/fleet/address.ts';
import { FleetStatistics, ListSuperNodes, UnavailableNodes } from '../../../projections/fleet/queries.ts';
import { parseCurrentState } from './current-state.ts';
import type { RouteDependencies } from './dependencies.ts';
import { type App, readAnswers, readRequestHeaders } from '../../http/schema.ts';
import { recordQuery } from './action-schemas.ts';
import { nodeSumRoutes } from './node-sums.ts';
import { uptimeRoutes } from '../uptime/routes.ts';
import { instantOf, instantOfWalk } from './as-of.ts';
import * as schemas from './supernode-schemas.ts';
import { metricsOf } from './supernode-views.ts';
import { versionRoutes } from './version-matrix.ts';

const tags = ['SuperNodes'];
const gigabytesPerTerabyte = 1024;
const ofFleet = {
  projections: ['supernodes', 'availability', 'validators'],
  sources: ['supernodes', 'validators'],
} as const;
/** Ranks are those of the last round, which is a fact too. */
const withRanks = { ...ofFleet, projections: [...ofFleet.projections, 'rounds'] } as const;

/** `/v1/supernodes`: metrics, payments, statistics, who is unavailable, how available each has been; their versions. */
export function superNodeRoutes(app: App, dependencies: RouteDependencies): void {
  addList(app, dependencies);
  nodeSumRoutes(app, dependencies);
  addStats(app, dependencies);
  addUnavailable(app, dependencies);
  uptimeRoutes(app, dependencies);
  versionRoutes(app, dependencies);
}

function addList(app: App, { read, cursors, ranks }: RouteDependencies): void {
  const schema = {
    tags,
    operationId: 'listSuperNodeMetrics',
    summary: 'SuperNodes with their latest figures',
    description:
      'Every SuperNode of the chain’s list that fits, ordered by id, ascending, bytewise. `cursor` leads to the next page.',
    querystring: schemas.superNodeListQuery,
    headers: readRequestHeaders,
    response: readAnswers('A page of SuperNodes.', schemas.superNodeList.ref, 400, 410),
  };
  app.get('/v1/supernodes/metrics', { schema }, async ({ query }, reply) => {
    const { limit, cursor, as_of: _, min_height: _height, ...given } = query;
    const currentState = parseCurrentState(given.currentState);
    const walk = { list: 'supernodes', filters: { ...given, currentState } };
    const position = cursor === undefined ? undefined : cursors.open(walk, cursor);
    const { instant, check } = instantOfWalk(instantOf({ query }), position);
    return await read(reply, { ...withRanks, instant }, async (snapshot) => {
      check(snapshot);
      const match = await snapshot.ask(new ListSuperNodes({ ...given, currentState, after: position?.after, limit }));
      const rankOf = await ranks(snapshot);
      const pages = (position?.pages ?? 0) + 1;
      const last = match.rows.at(-1);
      return {
        supernodes: match.rows.map((node) => metricsOf(node, rankOf)),
        total: match.total,
        ...(match.hasMore && last
          ? { cursor: cursors.seal(walk, { after: last.id, pages, instant: snapshot.instant }) }
          : {}),
      };
    });
  });
}

function addStats(app: App, { read }: RouteDependencies): void {
  const schema = {
    tags,
    operationId: 'fleetStats',
    summary: 'Figures of all SuperNodes together',
    querystring: recordQuery,
    headers: readRequestHeaders,
    response: readAnswers('Averages and sums are over available nodes.', schemas.fleetStatsAnswer.ref, 400, 410),
  };
  const scope = { projections: ['supernodes', 'availability'], sources: ['supernodes'] } as const;
  app.get('/v1/supernodes/stats', { schema }, async ({ query }, reply) => {
    return await read(reply, { ...scope, instant: instantOf({ query }) }, async ({ ask }) => {
      const stats = await ask(new FleetStatistics({}));
      return {
        total_supernodes: stats.total,
        available_count: stats.available,
        unavailable_count: stats.unavailable,
        avg_cpu_usage_percent: stats.avg_cpu_usage_percent,
        total_storage_tb: stats.storage_total_gb / gigabytesPerTerabyte,
        total_memory_gb: stats.memory_total_gb,
      };
    });
  });
}

function addUnavailable(app: App, { read }: RouteDependencies): void {
  const schema = {
    tags,
    operationId: 'unavailableSuperNodes',
    summary: 'SuperNodes that are not available',
    querystring: schemas.unavailableQuery,
    headers: readRequestHeaders,
    response: readAnswers('Ordered by id.', schemas.unavailableList.ref, 400, 410),
  };
  app.get('/v1/supernodes/unavailable', { schema }, async ({ query }, reply) => {
    const currentState = parseCurrentState(query.currentState);
    return await read(reply, { ...ofFleet, instant: instantOf({ query }) }, async ({ ask }) => {
      const nodes = await ask(new UnavailableNodes({ currentState }));
      const supernodes = nodes.map(({ id, address, failed_probe_counter, last_seen_at }) => ({
        id,
        ip: displayHost(address),
        failed_probe_counter,
        last_seen_at,
      }));
      return { supernodes };
    });
  });
}
