import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { AppError, passes } from '../../../kit/errors.ts';
import type { Logger } from '../../../kit/logger.ts';
import { annotate } from '../../../kit/tracing/tracing.ts';
import type { Chain } from '../chain.ts';
import { BodyTooLarge, createPlainServer, readBody, send, sendUnread } from '../../http/plain-server.ts';
import { routeNamed } from '../../http/request-spans.ts';
import { actionRoutes } from './actions.ts';
import { type ChainRestRequest, prunedState, RestError, type RestOptions, type Routes } from './answer.ts';
import type { Sealer } from '../sealer.ts';
import { baseRoutes } from './base.ts';
import { postRoutes } from './broadcast.ts';
import { answerOpenRpc, openRpcPath } from './openrpc.ts';
import { stakingRoutes } from './staking.ts';
import { supernodeRoutes } from './supernodes.ts';
import { transactionRoutes } from './transactions.ts';

const routes: Routes = { ...actionRoutes, ...supernodeRoutes, ...stakingRoutes, ...transactionRoutes, ...baseRoutes };
const table = Object.entries(routes).map(([pattern, answer]) => ({ segments: pattern.split('/'), pattern, answer }));

const maxUrlLength = 8192;
const mostBodyBytes = 512 * 1024;
const tooLong = new RestError(3, `the body is longer than ${mostBodyBytes} bytes`, true);
const page =
  '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8" /><title>lumera</title></head>\n<body><p>Chain REST of the local network.</p></body>\n</html>\n';

/** The chain as it is now, and the sealer, which accepts transactions. */
export type ChainService = Readonly<{
  chain: () => Chain;
  sealer: Sealer;
  /** The current address of the chain's JSON-RPC. */
  jsonRpc: () => string | undefined;
}>;

/**
 * The chain's REST over a chain; not listening yet.
 *
 * Wire forms are those of the real chain, its oddities included: wrong methods and unknown routes are 501, POST answers
 * like GET, a doubled slash is redirected.
 */
export function createRestServer(serving: ChainService, options: RestOptions, logger: Logger): Server {
  return createPlainServer(
    { maxHeaderSize: 16_384, headersTimeout: 10_000, requestTimeout: 15_000 },
    async (request, response) => await respond(serving, request, response, options),
    async (caught, response) => {
      if (caught instanceof BodyTooLarge) return await sendUnread(response, tooLong.status, errorText(tooLong));
      const refusal = refusalOf(caught);
      if (!refusal) logger.error({ err: caught, url: response.req.url }, 'chain REST request failed');
      sendError(response, refusal ?? new RestError(13, 'internal error'));
    },
  );
}

/** The answer to a failure that is no fault of ours. */
function refusalOf(caught: unknown): RestError | undefined {
  if (caught instanceof RestError) return caught;
  if (!(caught instanceof AppError)) return undefined;
  if (caught.code === 'INVALID_ARGUMENT') return new RestError(3, caught.message);
  return passes(caught) ? new RestError(14, caught.message) : undefined;
}

async function respond(
  { chain: current, sealer, jsonRpc }: ChainService,
  request: IncomingMessage,
  response: ServerResponse,
  options: RestOptions,
): Promise<void> {
  const chain = current();
  const url = request.url ?? '/';
  if (url.length > maxUrlLength) throw new RestError(3, `request is longer than ${maxUrlLength} characters`, true);
  const [rawPath = '/', ...search] = url.split('?');
  if (/\/\//.test(rawPath)) {
    const clean = rawPath.replace(/\/{2,}/g, '/') + (search.length > 0 ? `?${search.join('?')}` : '');
    response.writeHead(301, { location: clean }).end();
    return;
  }
  if (rawPath === openRpcPath)
    return await answerOpenRpc(request, response, { jsonRpc: jsonRpc(), body: () => readBody(request, mostBodyBytes) });
  if (request.method !== 'GET' && request.method !== 'POST') throw notImplemented();
  const post = request.method === 'POST' ? postRoutes[rawPath] : undefined;
  if (post) {
    annotate(...routeNamed(request.method, rawPath));
    const posted = { chain, sealer, body: await readBody(request, mostBodyBytes) };
    return send(response, 200, JSON.stringify(await post(posted)));
  }
  request.resume();
  if (rawPath === '/') {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page);
    return;
  }
  const { answer, params, pattern } = routeOf(rawPath);
  annotate(...routeNamed(request.method, pattern));
  const view = chain.history.view(heightOf(chain, request, options));
  const height = String(view.height);
  const requested: ChainRestRequest = { chain, view, params, query: new URLSearchParams(search.join('?')), options };
  try {
    send(response, 200, JSON.stringify(await answer(requested)), atHeight(height));
  } catch (caught) {
    if (!(caught instanceof RestError)) throw caught;
    sendError(response, caught, height);
  }
}

function routeOf(rawPath: string): {
  pattern: string;
  answer: (asked: ChainRestRequest) => unknown;
  params: Record<string, string>;
} {
  const segments = decoded(rawPath).split('/');
  for (const { segments: parts, pattern, answer } of table) {
    if (parts.length !== segments.length) continue;
    const isHit = parts.every((part, index) => part.startsWith('{') || part === segments[index]);
    if (!isHit) continue;
    const named = parts.flatMap((part, index) =>
      part.startsWith('{') ? [[part.slice(1, -1), segments[index] ?? '']] : [],
    );
    return { pattern, answer, params: Object.fromEntries(named) };
  }
  throw notImplemented();
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw new RestError(3, 'malformed path', true);
  }
}

/** The height that a request names; none and 0 mean the latest. */
function heightOf(chain: Chain, request: IncomingMessage, options: RestOptions): number {
  const text = String(request.headers['x-cosmos-block-height'] ?? '0');
  const refuse = (message: string): never => {
    throw new RestError(2, message, true);
  };
  if (!/^-?\d{1,15}$/.test(text)) {
    const parsing = `strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`;
    return refuse(
      `codespace sdk code 18: invalid request: Baseapp.RegisterGRPCServer: invalid height header "x-cosmos-block-height": ${parsing}`,
    );
  }
  const height = Number(text);
  if (height < 0)
    refuse('codespace sdk code 18: invalid request: cannot query with height < 0; please provide a valid height');
  if (height > chain.height)
    refuse(
      'codespace sdk code 26: invalid height: cannot query with height in the future; please provide a valid height',
    );
  if (height > 0 && height < Math.max(options.lowestHeight ?? 0, chain.lowestHeight))
    refuse(`codespace sdk code 38: not found: ${prunedState(chain, height)}`);
  return height || chain.height;
}

function notImplemented(): RestError {
  return new RestError(12, 'Not Implemented', true);
}

function sendError(response: ServerResponse, error: RestError, height?: string): void {
  send(response, error.status, errorText(error), atHeight(error.isBare ? undefined : height));
}

function errorText({ grpcCode: code, message }: RestError): string {
  return JSON.stringify({ code, message, details: [] });
}

function atHeight(height: string | undefined): Readonly<Record<string, string>> {
  return height === undefined ? {} : { 'grpc-metadata-x-cosmos-block-height': height };
}
