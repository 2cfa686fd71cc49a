import { setTimeout as pause } from 'node:timers/promises';
import { get } from './ask.mjs';

const LOOK_EVERY_MS = 50;

/** Routes that must show real content, and where it lies in their answers. */
export const CONTENT = {
  '/v1/actions': ({ actions }) => actions?.length,
  '/v1/supernodes/metrics': ({ supernodes }) => supernodes?.length,
  '/v1/supernodes/unavailable': ({ supernodes }) => supernodes?.length,
};

/**
 * Asks for readiness from the first moment on. `statuses` is what it went through (0: nobody listens yet), `routes`
 * what the routes with content answered right after the first 200, which must not come before they can.
 */
export function watchReadiness(service, api) {
  const seen = { statuses: [], routes: undefined };
  const watch = async () => {
    while (!service.hasEnded && seen.statuses.at(-1) !== 200) {
      const { status } = await get(`${api}/readyz`);
      if (seen.statuses.at(-1) !== status) seen.statuses.push(status);
      if (status === 200) seen.routes = await Promise.all(Object.keys(CONTENT).map((route) => answerOf(api, route)));
      else await pause(LOOK_EVERY_MS);
    }
  };
  void watch();
  return seen;
}

/** What a route with content answers now, and how much of it there is. */
export async function answerOf(api, route) {
  const { status, body } = await get(`${api}${route}`);
  return { route, status, count: (body && CONTENT[route](body)) ?? 0 };
}

/** Fails when /readyz was 200 too early: from the start, or before every route could answer. */
export function assertReadiness({ statuses, routes }, note) {
  note('/readyz went', statuses.join(' -> '));
  note('right after', routes.map(({ route, status, count }) => `${route} ${status} with ${count}`).join(', '));
  if (statuses[0] === 200) throw new Error('/readyz was 200 from the first moment on');
  if (routes.some(({ status }) => status !== 200)) throw new Error('/readyz was 200 before every route could answer');
}
