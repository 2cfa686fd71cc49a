import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Logger } from '../../../kit/logger.ts';
import type { Chain } from '../chain.ts';
import { actionRoutes } from './actions.ts';
import { type Asked, RestError, type RestOptions, type Routes } from './answer.ts';
import type { Sealer } from '../sealer.ts';
import { baseRoutes } from './base.ts';
import { postRoutes } from './broadcast.ts';
import { answerOpenRpc, openRpcPath } from './openrpc.ts';
import { stakingRoutes } from './staking.ts';
import { supernodeRoutes } from './supernodes.ts';
import { transactionRoutes } from './transactions.ts';

const routes: Routes = { ...actionRoutes, ...supernodeRoutes, ...stakingRoutes, ...transactionRoutes, ...baseRoutes };
const table = Object.entries(routes).map(([pattern, answer]) => ({ segments: pattern.split('/'), answer }));

const maxUrlLength = 8192;
const mostBodyBytes = 512 * 1024;
const page =
  '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8" /><title>lumera</title></head>\n<body><p>Chain REST of the local network.</p></body>\n</html>\n';

/** The chain as it is now, and who takes transactions in. */
export type Serving = Readonly<{
  chain: () => Chain;
  sealer: Sealer;
  /** Where the chain's JSON-RPC is reached by now. */
  jsonRpc: () => string | undefined;
}>;

/**
 * The chain's REST over a chain; not listening yet.
 *
 * Wire forms are those of the real chain, its oddities included: wrong methods and unknown routes are 501, POST answers
 * like GET, a doubled slash is redirected.
 */
export function createRestServer(serving: Serving, options: RestOptions, logger: Logger): Server {
  const server = createServer({ maxHeaderSize: 16_384 }, (request, response) => {
    respond(serving, request, response, options).catch((caught: unknown) => {
      if (!(caught instanceof RestError)) logger.error({ err: caught, url: request.url }, 'chain REST request failed');
      sendError(response, caught instanceof RestError ? caught : new RestError(13, 'internal error'));
    });
  });
  server.requestTimeout = 15_000;
  server.headersTimeout = 10_000;
  return server;
}

async function respond(
  { chain: current, sealer, jsonRpc }: Serving,
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
    return await answerOpenRpc(request, response, { jsonRpc: jsonRpc(), body: () => bodyOf(request) });
  if (request.method !== 'GET' && request.method !== 'POST') throw notImplemented();
  const post = request.method === 'POST' ? postRoutes[rawPath] : undefined;
  if (post) return send(response, 200, await post({ chain, sealer, body: await bodyOf(request) }));
  request.resume();
  if (rawPath === '/') {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page);
    return;
  }
  const { answer, params } = routeOf(rawPath);
  const view = chain.history.view(heightOf(chain, request, options));
  const height = String(view.height);
  const asked: Asked = { chain, view, params, query: new URLSearchParams(search.join('?')), options };
  try {
    send(response, 200, await answer(asked), height);
  } catch (caught) {
    if (!(caught instanceof RestError)) throw caught;
    sendError(response, caught, height);
  }
}

/** The text of a body of bounded length. */
async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    const bytes: Buffer = chunk;
    length += bytes.length;
    if (length > mostBodyBytes) throw new RestError(3, `the body is longer than ${mostBodyBytes} bytes`, true);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function routeOf(rawPath: string): { answer: (asked: Asked) => unknown; params: Record<string, string> } {
  const segments = decoded(rawPath).split('/');
  for (const { segments: pattern, answer } of table) {
    if (pattern.length !== segments.length) continue;
    const isHit = pattern.every((part, index) => part.startsWith('{') || part === segments[index]);
    if (!isHit) continue;
    const named = pattern.flatMap((part, index) =>
      part.startsWith('{') ? [[part.slice(1, -1), segments[index] ?? '']] : [],
    );
    return { answer, params: Object.fromEntries(named) };
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

/** The height that a request asks for; none and 0 mean the latest. */
function heightOf(chain: Chain, request: IncomingMessage, { lowestHeight = 0 }: RestOptions): number {
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
  if (height > 0 && height < lowestHeight) {
    const version = 'version mismatch on immutable IAVL tree; version does not exist';
    const why = `Version has either been pruned, or is for a future block height (latest height: ${chain.height})`;
    refuse(`codespace sdk code 38: not found: failed to load state at height ${height}; ${version}. ${why}`);
  }
  return height || chain.height;
}

function notImplemented(): RestError {
  return new RestError(12, 'Not Implemented', true);
}

function sendError(response: ServerResponse, error: RestError, height?: string): void {
  send(
    response,
    error.status,
    { code: error.grpcCode, message: error.message, details: [] },
    error.isBare ? undefined : height,
  );
}

function send(response: ServerResponse, status: number, body: unknown, height?: string): void {
  const heightHeader = height === undefined ? {} : { 'grpc-metadata-x-cosmos-block-height': height };
  // Who stops reading a request cannot read the next one of its connection.
  const end = response.req.destroyed ? { connection: 'close' } : {};
  const headers = { 'content-type': 'application/json', ...heightHeader, ...end };
  response.writeHead(status, headers).end(JSON.stringify(body));
}
