import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Origins } from '../../kit/setting-forms.ts';
import type { Dispatcher } from './dispatcher.ts';

const mostBodyBytes = 5 * 1024 * 1024;
const requestMs = 30_000;
const idleMs = 120_000;
const cors = {
  'access-control-allow-methods': 'POST, OPTIONS',
  'access-control-allow-headers': 'content-type',
  'access-control-max-age': '600',
};

/** Whether a request is from a page of one of the origins, or from no page at all. */
export const mayAsk = ({ headers }: IncomingMessage, origins: Origins): boolean =>
  origins === '*' || headers.origin === undefined || origins.includes(headers.origin);

/**
 * Makes the server of JSON-RPC over HTTP; it does not listen yet.
 *
 * A page of another origin than `origins` gets 403 and is not executed: a browser would only hide the answer from it.
 */
export function createHttpServer(dispatch: Dispatcher, origins: Origins): Server {
  const server = createServer({ requestTimeout: requestMs, keepAliveTimeout: idleMs }, (request, response) => {
    for (const [name, value] of Object.entries(allowed(request, origins))) response.setHeader(name, value);
    if (!mayAsk(request, origins)) return end(response, 403);
    handle(request, response, dispatch).catch(() => response.destroy());
  });
  return server;
}

function allowed({ headers }: IncomingMessage, origins: Origins): Readonly<Record<string, string>> {
  if (origins === '*') return { ...cors, 'access-control-allow-origin': '*' };
  const { origin } = headers;
  if (origin === undefined || !origins.includes(origin)) return { vary: 'origin' };
  return { ...cors, 'access-control-allow-origin': origin, vary: 'origin' };
}

async function handle(request: IncomingMessage, response: ServerResponse, dispatch: Dispatcher): Promise<void> {
  if (request.method === 'OPTIONS') return end(response, 204);
  if (request.method === 'GET' && request.url === '/') return end(response, 200);
  if (request.method !== 'POST') return end(response, 405, undefined, { allow: 'POST, OPTIONS' });
  const body = await bodyOf(request);
  if (body === undefined) return end(response, 413, undefined, { connection: 'close' });
  const answer = await dispatch(body);
  end(response, answer === undefined ? 204 : 200, answer);
}

function end(
  response: ServerResponse,
  status: number,
  body?: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  response.writeHead(status, { ...type, ...headers }).end(body);
}

/** Undefined where it is larger than it may be. */
async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request.iterator({ destroyOnReturn: false })) {
    const piece: unknown = part;
    if (!(piece instanceof Buffer)) continue;
    size += piece.length;
    if (size > mostBodyBytes) return undefined;
    parts.push(piece);
  }
  return Buffer.concat(parts).toString('utf8');
}
