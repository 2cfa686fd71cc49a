import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Logger } from '../../../kit/logger.ts';
import { BodyTooLarge, createPlainServer, readBody, send, sendUnread } from '../../http/plain-server.ts';
import { answerBatch, errorText, resultText } from '../../json-rpc/answers.ts';
import { type RpcMessage, parseMessage } from '../../json-rpc/message.ts';
import { RpcError, rpcCodes } from '../../json-rpc/rpc-error.ts';
import type { Chain } from '../chain.ts';
import { RestError } from '../rest/answer.ts';
import type { Sealer } from '../sealer.ts';
import { methods } from './methods.ts';
import { type Parameters, parametersInQuery } from './parameters.ts';
import { errorRecord } from './rpc-error.ts';

const mostBodyBytes = 512 * 1024;
const mostUrlLength = 256 * 1024;
const mostCalls = 20;
const shape = { depth: 16, values: 2000 };
const plainText = { 'content-type': 'text/plain; charset=utf-8' };
const tooLong = new RpcError(rpcCodes.invalidRequest, `the body is longer than ${mostBodyBytes} bytes`);

type Serving = Readonly<{ chain: () => Chain; sealer: Sealer }>;

/**
 * The CometBFT RPC over a chain, for wallets and the network's clients; not listening yet.
 *
 * JSON-RPC 2.0 by POST to `/`, one call or up to twenty, and the same methods by GET at `/method?parameter=…`. An
 * answer has the id of its call; one to GET has -1. A message that is refused completely is 400.
 */
export function createCometServer(serving: Serving, logger: Logger): Server {
  return createPlainServer(
    { maxHeaderSize: mostUrlLength + 16_384, headersTimeout: 10_000, requestTimeout: 15_000 },
    async (request, response) => await respond(serving, request, response, logger),
    async (caught, response) => {
      if (caught instanceof BodyTooLarge)
        return await sendUnread(response, 400, errorText('null', errorRecord(tooLong)));
      if (!(caught instanceof RpcError)) logger.error({ err: caught }, 'chain RPC request failed');
      send(response, caught instanceof RpcError ? 400 : 500, errorText('null', errorRecord(caught)));
    },
  );
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
  if (request.method !== 'POST' || path !== '/') return send(response, 404, '404 page not found\n', plainText);
  const answers = await answersTo(call, await readBody(request, mostBodyBytes));
  send(response, answers === undefined ? 204 : 200, answers);
}

type Call = (method: string, parameters: Parameters) => Promise<unknown>;

async function byAddress(
  call: Call,
  { path, query }: Readonly<{ path: string; query: string }>,
  response: ServerResponse,
): Promise<void> {
  const method = path.slice(1);
  const names = Object.keys(methods).map((name) => `/${name}\n`);
  if (method === '') return send(response, 200, names.join(''), plainText);
  if (!Object.hasOwn(methods, method)) return send(response, 404, '404 page not found\n', plainText);
  try {
    const result = await call(method, parametersInQuery(new URLSearchParams(query)));
    send(response, 200, resultText('-1', result));
  } catch (caught) {
    send(response, 500, errorText('-1', errorRecord(caught)));
  }
}

/** Answers to a body: one, those of a batch, or undefined where none of its calls needs one. */
async function answersTo(call: Call, body: string): Promise<string | undefined> {
  const message = messageIn(body);
  const { value } = message;
  if (!Array.isArray(value)) return await answerTo(call, message, value);
  if (value.length === 0 || value.length > mostCalls)
    throw new RpcError(rpcCodes.invalidRequest, `a batch holds 1 to ${mostCalls} calls, not ${value.length}`);
  return await answerBatch(value, { answer: async (one) => await answerTo(call, message, one) });
}

function messageIn(body: string): RpcMessage {
  try {
    return parseMessage(body, shape);
  } catch {
    throw new RpcError(rpcCodes.parse, 'the body is not JSON that can be read');
  }
}

/** A call without an id is a notification: it is neither answered nor executed; an invalid id counts as null. */
async function answerTo(call: Call, { idOf }: RpcMessage, requested: unknown): Promise<string | undefined> {
  const fields: Readonly<Record<string, unknown>> =
    typeof requested === 'object' && requested !== null ? { ...requested } : {};
  const { method, params = {} } = fields;
  const id = idOf(requested) ?? 'null';
  try {
    if (fields['jsonrpc'] !== '2.0' || typeof method !== 'string')
      throw new RpcError(rpcCodes.invalidRequest, 'a call has jsonrpc "2.0" and the name of a method');
    if (fields['id'] === undefined) return undefined;
    if (typeof params !== 'object' || params === null || Array.isArray(params))
      throw new RpcError(rpcCodes.invalidParameters, 'parameters are given by name, in an object');
    return resultText(id, await call(method, { ...params }));
  } catch (caught) {
    return errorText(id, errorRecord(caught));
  }
}

async function carryOut(
  serving: Readonly<{ chain: Chain; sealer: Sealer }>,
  name: string,
  parameters: Parameters,
  logger: Logger,
): Promise<unknown> {
  const method = Object.hasOwn(methods, name) ? methods[name] : undefined;
  if (method === undefined)
    throw new RpcError(rpcCodes.methodNotFound, `there is no method ${JSON.stringify(name.slice(0, 100))}`);
  try {
    return await method(serving, parameters);
  } catch (caught) {
    if (!(caught instanceof RpcError || caught instanceof RestError))
      logger.warn({ err: caught, method: name }, 'chain RPC call failed');
    throw caught;
  }
}
