import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { toAppError } from '../../../kit/errors.ts';
import { callerOf } from '../../../kit/net-address.ts';
import type { Origins } from '../../../kit/setting-forms.ts';
import { BodyTooLarge, createPlainServer, readBody, send, sendInTurns, sendUnread } from '../../http/plain-server.ts';
import { errorText } from '../../json-rpc/answers.ts';
import { isJson } from '../../json-rpc/message.ts';
import { errorBody } from '../../json-rpc/rpc-error.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { CallIntake } from './intake.ts';

const mostBodyBytes = 5 * 1024 * 1024;
const bounds = { requestTimeout: 30_000, keepAliveTimeout: 120_000 };
const cors = {
  'access-control-allow-methods': 'POST, OPTIONS',
  'access-control-allow-headers': 'content-type',
  'access-control-max-age': '600',
};

/** The dispatcher of requests, the origins that may send them, and the bounds of requests and of unread responses. */
export type RpcServing = Readonly<{ dispatch: Dispatcher; origins: Origins; intake: CallIntake; unread: CallIntake }>;

/** Returns whether a request is from a page of one of the origins, or from no page at all. */
export const mayRequest = ({ headers }: IncomingMessage, origins: Origins): boolean =>
  origins === '*' || headers.origin === undefined || origins.includes(headers.origin);

/**
 * Makes the server of JSON-RPC over HTTP; it does not listen yet.
 *
 * A request of a page of another origin than `origins` gets 403 and is not executed: a browser would only hide the
 * response from the page. The work of a request ends with its connection. A client that takes nothing of a response for
 * `stallMs` is cut off.
 */
export function createHttpServer(serving: RpcServing, stallMs?: number): Server {
  const { origins } = serving;
  return createPlainServer(
    bounds,
    async (request, response) => {
      for (const [name, value] of Object.entries(allowed(request, origins))) response.setHeader(name, value);
      if (mayRequest(request, origins)) await handle(request, response, serving);
      else send(response, 403);
    },
    async (caught, response) => {
      if (caught instanceof BodyTooLarge) return await sendUnread(response, 413);
      if (toAppError(caught).code !== 'TOO_MANY_REQUESTS') throw caught;
      send(response, 429, errorText('null', errorBody(caught)), { 'retry-after': '1' });
    },
    stallMs,
  );
}

function allowed({ headers }: IncomingMessage, origins: Origins): Readonly<Record<string, string>> {
  if (origins === '*') return { ...cors, 'access-control-allow-origin': '*' };
  const { origin } = headers;
  if (origin === undefined || !origins.includes(origin)) return { vary: 'origin' };
  return { ...cors, 'access-control-allow-origin': origin, vary: 'origin' };
}

async function handle(request: IncomingMessage, response: ServerResponse, serving: RpcServing): Promise<void> {
  if (request.method === 'OPTIONS') return send(response, 204);
  if (request.method === 'GET' && request.url === '/') return send(response, 200);
  if (request.method !== 'POST') return send(response, 405, undefined, { allow: 'POST, OPTIONS' });
  if (!isJson(request)) return send(response, 415, undefined, { accept: 'application/json' });
  const caller = callerOf(request.socket.remoteAddress ?? '');
  const admitted = serving.intake.enter(caller);
  const unread = serving.unread.enter(caller);
  try {
    const body = await readBody(request, mostBodyBytes, admitted.grow);
    const answer = await serving.dispatch(body, { caller, signal: closing(response) });
    if (answer === undefined) return send(response, 204);
    unread.grow(answer.length);
    await sendInTurns(response, 200, answer);
  } finally {
    unread.leave();
    admitted.leave();
  }
}

/** Aborts when the connection closes before its answer. */
function closing(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  response.once('close', () => controller.abort());
  return controller.signal;
}
