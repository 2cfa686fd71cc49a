import { accountOf, operatorOf } from '../support/chains/chain-stub-state.ts';
import { creators } from '../support/histories/long-history.ts';

/** A JSON object as it was answered. */
export type Json = Readonly<Record<string, unknown>>;

/** Whether a path answers from log and archive, and so with no position of read models. */
export function isOfTheLog(path: string): boolean {
  return path === '/v1/logs' || path.startsWith('/v1/causes/') || path.endsWith('/events');
}

/**
 * Every path with the status that it must always have; the log gains nothing of the quiet node. No total of theirs goes
 * back: none is of a state that actions leave again.
 */
export function everyPath(quiet: string, busy: string): ReadonlyMap<string, number> {
  const operator = operatorOf(quiet);
  const found = [
    ...['', '?limit=200', '?limit=50&include_transactions=true', '?type=sense', '?state=approved'].map(
      (query) => `/v1/actions${query}`,
    ),
    ...[`creator=${creators[0]}`, `supernode=${operator}`, `supernode=${accountOf(busy)}`].map(
      (filter) => `/v1/actions?${filter}`,
    ),
    `/v1/actions?dataHash=${'a'.repeat(64)}`,
    `/v1/actions?fromHeight=100&toHeight=2000&state=approved`,
    '/v1/actions/7',
    ...['versions', 'events'].map((what) => `/v1/actions/7/${what}`),
    '/v1/actions/stats',
    '/v1/actions/stats?from=2026-01-01T05:00:00Z',
    ...['', '?limit=3', '?status=available', '?currentState=bonded'].map((query) => `/v1/supernodes/metrics${query}`),
    ...['metrics', 'paymentInfo', 'versions', 'availability', 'incidents', 'events'].map(
      (what) => `/v1/supernodes/${operator}/${what}`,
    ),
    '/v1/supernodes/records?limit=20',
    `/v1/supernodes/${operator}/record`,
    ...['stats', 'action-stats', 'unavailable', 'availability'].map((what) => `/v1/supernodes/${what}`),
    '/v1/incidents',
    '/v1/version/matrix',
    '/v1/logs',
    '/v1/causes/unknown',
    ...['checkpoint', 'vkey', 'events', 'events/1', 'proofs/1', 'tile/0/000'].map((what) => `/log/ACTIONS/${what}`),
    '/healthz',
    '/readyz',
    '/metrics',
    '/openapi.json',
    '/webhooks.pub',
    '/',
    '/docs',
  ];
  const unknown = [
    '/v1/actions/99999999',
    `/v1/transactions/${'A'.repeat(64)}/events`,
    '/log/ACTIONS/events/999999999/previous',
  ];
  return new Map([
    ...found.map((path) => [path, 200] as const),
    ...unknown.map((path) => [path, 404] as const),
    ['/log/ACTIONS/events/1/previous', 204],
  ]);
}

/** The JSON of an answer; throws with the body of one that is no 200. */
export async function json(url: string): Promise<Json> {
  const response = await fetch(url);
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as Json;
}
