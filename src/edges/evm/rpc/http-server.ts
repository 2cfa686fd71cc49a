import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { toAppError } from '../../../kit/errors.ts';
import { callerOf } from '../../../kit/net-address.ts';
import type { Origins } from '../../../kit/setting-forms.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { Admitted, Intake } from './intake.ts';
import { errorBody } from './rpc-error.ts';

const mostBodyBytes = 5 * 1024 * 1024;
/** What is read and dropped of a body that is too large, so that its sender comes to reading the answer. */
const drained = { bytes: 32 * 1024 * 1024, ms: 5_000 };
const requestMs = 30_000;
const idleMs = 120_000;
const bodyTypes: readonly string[] = ['application/json', 'application/json-rpc', 'application/jsonrequest'];
const cors = {
  'access-control-allow-methods': 'POST, OPTIONS',
  'access-control-allow-headers': 'content-type',
  'access-control-max-age': '600',
};

/** What answers requests, for whom, and what it may have under way. */
export type RpcServing = Readonly<{ dispatch: Dispatcher; origins: Origins; intake: Intake }>;

/** Whether a request is from a page of one of the origins, or from no page at all. */
export const mayAsk = ({ headers }: IncomingMessage, origins: Origins): boolean =>
  origins === '*' || headers.origin === undefined || origins.includes(headers.origin);

/**
 * Makes the server of JSON-RPC over HTTP; it does not listen yet.
 *
 * A page of another origin than `origins` gets 403 and is not executed: a browser would only hide the answer from it.
 * What a request began ends with its connection.
 */
export function createHttpServer(serving: RpcServing): Server {
  const { origins } = serving;
  const server = createServer({ requestTimeout: requestMs, keepAliveTimeout: idleMs }, (request, response) => {
    for (const [name, value] of Object.entries(allowed(request, origins))) response.setHeader(name, value);
    if (!mayAsk(request, origins)) return end(response, 403);
    handle(request, response, serving).catch(() => response.destroy());
  });
  return server;
}

function allowed({ headers }: IncomingMessage, origins: Origins): Readonly<Record<string, string>> {
  if (origins === '*') return { ...cors, 'access-control-allow-origin': '*' };
  const { origin } = headers;
  if (origin === undefined || !origins.includes(origin)) return { vary: 'origin' };
  return { ...cors, 'access-control-allow-origin': origin, vary: 'origin' };
}

async function handle(request: IncomingMessage, response: ServerResponse, serving: RpcServing): Promise<void> {
  if (request.method === 'OPTIONS') return end(response, 204);
  if (request.method === 'GET' && request.url === '/') return end(response, 200);
  if (request.method !== 'POST') return end(response, 405, undefined, { allow: 'POST, OPTIONS' });
  if (!isJson(request)) return end(response, 415, undefined, { accept: bodyTypes[0] ?? '' });
  const caller = callerOf(request.socket.remoteAddress ?? '');
  let admitted: Admitted | undefined;
  try {
    admitted = serving.intake.enter(caller);
    const body = await bodyOf(request, admitted);
    if (body === undefined) return await refuseBody(request, response);
    const answer = await serving.dispatch(body, { caller, signal: closing(response) });
    end(response, answer === undefined ? 204 : 200, answer);
  } catch (caught) {
    if (toAppError(caught).code !== 'TOO_MANY_REQUESTS') throw caught;
    const error = errorBody(caught);
    end(response, 429, JSON.stringify({ jsonrpc: '2.0', id: null, error }), { 'retry-after': '1' });
  } finally {
    admitted?.leave();
  }
}

/** Whether a body says that it is JSON, in the forms that geth takes: a page needs leave to send any of them. */
export function isJson({ headers }: IncomingMessage): boolean {
  const [type = ''] = (headers['content-type'] ?? '').split(';', 1);
  return bodyTypes.includes(type.trim().toLowerCase());
}

/** Aborts when the connection closes before its answer. */
function closing(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  response.once('close', () => controller.abort());
  return controller.signal;
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
async function bodyOf(request: IncomingMessage, admitted: Admitted): Promise<string | undefined> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const piece of piecesOf(request)) {
    size += piece.length;
    if (size > mostBodyBytes) return undefined;
    admitted.grow(piece.length);
    parts.push(piece);
  }
  return Buffer.concat(parts).toString('utf8');
}

async function* piecesOf(request: IncomingMessage): AsyncGenerator<Buffer> {
  for await (const part of request.iterator({ destroyOnReturn: false })) {
    const piece: unknown = part;
    if (piece instanceof Buffer) yield piece;
  }
}

/** Answers 413 at once and reads on for a while: a connection that closes over unread bytes takes the answer along. */
async function refuseBody(request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.writeHead(413, { connection: 'close', 'content-length': 0 });
  response.flushHeaders();
  const timer = setTimeout(() => request.destroy(), drained.ms);
  let size = 0;
  try {
    for await (const piece of piecesOf(request)) {
      size += piece.length;
      if (size > drained.bytes) break;
    }
  } catch {
    // Its sender has gone, or takes too long.
  }
  clearTimeout(timer);
  response.end();
}
