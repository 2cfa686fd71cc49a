import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { parseBounded } from '../../../kit/bounded-json.ts';
import type { Logger } from '../../../kit/logger.ts';
import type { Chain } from '../chain.ts';
import { RestError } from '../rest/answer.ts';
import type { Sealer } from '../sealer.ts';
import { methods } from './methods.ts';
import { type Parameters, parametersInQuery } from './parameters.ts';
import { errorRecord, RpcError } from './rpc-error.ts';

const mostBodyBytes = 512 * 1024;
const mostUrlLength = 256 * 1024;
const mostCalls = 20;

type Serving = Readonly<{ chain: () => Chain; sealer: Sealer }>;
type Id = string | number | null;
type Answer = Readonly<{ jsonrpc: '2.0'; id: Id; result?: unknown; error?: ReturnType<typeof errorRecord> }>;

/**
 * The CometBFT RPC over a chain, for wallets and the network's clients; not listening yet.
 *
 * JSON-RPC 2.0 by POST to `/`, one call or up to twenty, and the same methods by GET at `/method?parameter=…`. An
 * answer has the id of its call; one to GET has -1.
 */
export function createCometServer(serving: Serving, logger: Logger): Server {
  const server = createServer({ maxHeaderSize: mostUrlLength + 16_384 }, (request, response) => {
    respond(serving, request, response, logger).catch((caught: unknown) => {
      if (!(caught instanceof RpcError)) logger.error({ err: caught }, 'chain RPC request failed');
      const status = caught instanceof RpcError ? 400 : 500;
      send(response, status, { jsonrpc: '2.0', id: null, error: errorRecord(caught) });
    });
  });
  server.requestTimeout = 15_000;
  server.headersTimeout = 10_000;
  return server;
}

async function respond(
  { chain, sealer }: Serving,
  request: IncomingMessage,
  response: ServerResponse,
  logger: Logger,
): Promise<void> {
  const call = (method: string, parameters: Parameters): Promise<unknown> =>
    carryOut({ chain: chain(), sealer }, method, parameters, logger);
  const [path = '/', query = ''] = (request.url ?? '/').split('?', 2);
  if (request.method === 'GET') return await byAddress(call, { path, query }, response);
  if (request.method !== 'POST' || path !== '/') return sendText(response, 404, '404 page not found\n');
  const answers = await answersTo(call, await bodyOf(request));
  if (answers === undefined) response.writeHead(204).end();
  else send(response, 200, answers);
}

type Call = (method: string, parameters: Parameters) => Promise<unknown>;

async function byAddress(
  call: Call,
  { path, query }: Readonly<{ path: string; query: string }>,
  response: ServerResponse,
): Promise<void> {
  const method = path.slice(1);
  if (method === '')
    return sendText(
      response,
      200,
      `${Object.keys(methods)
        .map((name) => `/${name}`)
        .join('\n')}\n`,
    );
  if (!Object.hasOwn(methods, method)) return sendText(response, 404, '404 page not found\n');
  try {
    const result = await call(method, parametersInQuery(new URLSearchParams(query)));
    send(response, 200, { jsonrpc: '2.0', id: -1, result });
  } catch (caught) {
    send(response, 500, { jsonrpc: '2.0', id: -1, error: errorRecord(caught) });
  }
}

/** Answers to a body: one, those of a batch, or undefined where nothing in it wants one. */
async function answersTo(call: Call, body: string): Promise<Answer | readonly Answer[] | undefined> {
  let parsed: unknown;
  try {
    parsed = parseBounded(body, { depth: 16, values: 2000 });
  } catch {
    throw new RpcError(-32700, 'the body is not JSON that can be read');
  }
  if (!Array.isArray(parsed)) return await answerTo(call, parsed);
  if (parsed.length === 0 || parsed.length > mostCalls)
    throw new RpcError(-32600, `a batch holds 1 to ${mostCalls} calls, not ${parsed.length}`);
  const answers: Answer[] = [];
  for (const one of parsed) {
    const answer = await answerTo(call, one);
    if (answer !== undefined) answers.push(answer);
  }
  return answers.length === 0 ? undefined : answers;
}

/** A call without an id is a notification, which nobody answers. */
async function answerTo(call: Call, asked: unknown): Promise<Answer | undefined> {
  const fields: Readonly<Record<string, unknown>> = typeof asked === 'object' && asked !== null ? { ...asked } : {};
  const { id, method, params = {} } = fields;
  const echoed: Id = typeof id === 'string' || typeof id === 'number' ? id : null;
  try {
    if (fields['jsonrpc'] !== '2.0' || typeof method !== 'string')
      throw new RpcError(-32600, 'a call has jsonrpc "2.0" and the name of a method');
    if (id === undefined) return undefined;
    if (typeof params !== 'object' || params === null || Array.isArray(params))
      throw new RpcError(-32602, 'parameters are given by name, in an object');
    return { jsonrpc: '2.0', id: echoed, result: await call(method, { ...params }) };
  } catch (caught) {
    return { jsonrpc: '2.0', id: echoed, error: errorRecord(caught) };
  }
}

async function carryOut(
  serving: Readonly<{ chain: Chain; sealer: Sealer }>,
  name: string,
  parameters: Parameters,
  logger: Logger,
): Promise<unknown> {
  const method = Object.hasOwn(methods, name) ? methods[name] : undefined;
  if (method === undefined) throw new RpcError(-32601, `there is no method ${JSON.stringify(name.slice(0, 100))}`);
  try {
    return await method(serving, parameters);
  } catch (caught) {
    if (!(caught instanceof RpcError || caught instanceof RestError))
      logger.warn({ err: caught, method: name }, 'chain RPC call failed');
    throw caught;
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    const bytes: Buffer = chunk;
    length += bytes.length;
    if (length > mostBodyBytes) throw new RpcError(-32600, `the body is longer than ${mostBodyBytes} bytes`);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function send(response: ServerResponse, status: number, body: unknown): void {
  if (response.headersSent) return;
  // Who stops reading a request cannot read the next one of its connection.
  const end = response.req.destroyed ? { connection: 'close' } : {};
  response.writeHead(status, { 'content-type': 'application/json', ...end }).end(JSON.stringify(body));
}

function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(text);
}
