import type { Logger } from '../../kit/logger.ts';
import { ExecutionError } from '../executor/execution-error.ts';
import type { Connection } from './connection.ts';
import type { Method, MethodContext } from './registry.ts';
import { type ErrorBody, errorBody, rpcCodes, RpcError } from './rpc-error.ts';

/** Requests of one batch at most, and bytes of its answers from which on the rest is refused. */
const limits = { requests: 1000, responseBytes: 25_000_000 };

type Id = string | number | null;
type Request = Readonly<{ id?: Id; method: string; params: readonly unknown[] }>;

/** Answers the text of a request or a batch; undefined where nothing is to be answered. */
export type Dispatcher = (text: string, connection?: Connection) => Promise<string | undefined>;

/** Makes a dispatcher for methods, of which those in enabled namespaces can be called. */
export function createDispatcher(methods: readonly Method[], context: MethodContext, logger: Logger): Dispatcher {
  const callable = methods.filter(({ namespace }) => context.enabled.has(namespace));
  const byName = new Map(callable.map((method) => [method.name, method]));
  const call = async ({ method: name, params }: Request, connection?: Connection): Promise<unknown> => {
    const method = byName.get(name);
    if (!method) throw new RpcError(rpcCodes.methodNotFound, `the method ${name} does not exist/is not available`);
    return await method.call({ ...context, connection }, params);
  };
  const answer = async (given: unknown, connection?: Connection): Promise<string | undefined> => {
    let id: Id | undefined = null;
    try {
      id = idOf(given);
      const result = await call(requestOf(given), connection);
      return id === undefined ? undefined : `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${json(result)}}`;
    } catch (caught) {
      const error = errorBody(caught);
      if (isOurs(caught, error)) logger.error({ err: caught }, 'JSON-RPC request failed');
      return id === undefined ? undefined : failed(id, error);
    }
  };
  return async (text, connection) => {
    const given = parsed(text);
    if (given === undefined) return failed(null, { code: rpcCodes.parse, message: 'parse error' });
    if (!Array.isArray(given)) return await answer(given, connection);
    if (given.length === 0) return failed(null, { code: rpcCodes.invalidRequest, message: 'empty batch' });
    if (given.length > limits.requests)
      return failed(null, { code: rpcCodes.invalidRequest, message: 'batch too large' });
    const answers: string[] = [];
    let size = 0;
    for (const one of given) {
      const tooMuch = { code: rpcCodes.server, message: 'response too large' };
      const told = size > limits.responseBytes ? failed(idOf(one) ?? null, tooMuch) : await answer(one, connection);
      if (told === undefined) continue;
      size += told.length;
      answers.push(told);
    }
    return answers.length === 0 ? undefined : `[${answers.join(',')}]`;
  };
}

/** A simulation may fail with that code because of what it asks for. */
const isOurs = (caught: unknown, { code }: ErrorBody): boolean =>
  code === rpcCodes.internal && !(caught instanceof ExecutionError);

const json = (value: unknown): string => JSON.stringify(value ?? null);

const failed = (id: Id, error: ErrorBody): string => JSON.stringify({ jsonrpc: '2.0', id, error });

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // What cannot be parsed is answered as such.
    return undefined;
  }
}

/** Undefined for a notification; what is no id at all is answered as null. */
function idOf(given: unknown): Id | undefined {
  if (given === null || typeof given !== 'object' || !('id' in given)) {
    return given !== null && typeof given === 'object' && 'method' in given && 'jsonrpc' in given ? undefined : null;
  }
  const { id } = given;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}

function requestOf(given: unknown): Request {
  const invalid = new RpcError(rpcCodes.invalidRequest, 'invalid request');
  if (given === null || typeof given !== 'object' || Array.isArray(given)) throw invalid;
  const { jsonrpc, method, params = [] } = given as Readonly<Record<string, unknown>>;
  if (jsonrpc !== '2.0' || typeof method !== 'string') throw invalid;
  if (params === null) return { method, params: [] };
  if (!Array.isArray(params)) throw new RpcError(rpcCodes.invalidParameters, 'non-array args');
  return { method, params };
}
