import { toAppError } from '../../../kit/errors.ts';
import { TooComplex } from '../../../kit/bounded-json.ts';
import type { Logger } from '../../../kit/logger.ts';
import { span } from '../../../kit/tracing/tracing.ts';
import { boundReads } from '../workers/state-reads.ts';
import { answerBatch, errorText, resultInTurns } from '../../json-rpc/answers.ts';
import type { Connection } from './connection.ts';
import { type RpcMessage, parseMessage } from '../../json-rpc/message.ts';
import type { Method, ServedContext } from './registry.ts';
import { errorBody, rpcCodes, RpcError } from '../../json-rpc/rpc-error.ts';

/** Requests of one batch at most, and characters of its answers from which on the rest is refused. */
const limits = { requests: 1000, responseSize: 25_000_000 };
/** Time limit of one message, a request or a complete batch. */
const usualMessageMs = 30_000;

/**
 * The sender of a message: an address, the signal that ends its request, and the connection where it is one that stays.
 */
export type RpcCaller = Readonly<{ caller: string; signal: AbortSignal; connection?: Connection }>;

type Request = Readonly<{ method: string; params: readonly unknown[] }>;

/** Answers the text of a request or a batch; undefined where nothing is to be answered. */
export type Dispatcher = (text: string, sender: RpcCaller) => Promise<string | undefined>;

/** The context of one message: its sender, and its deadline. */
type Turn = RpcCaller & Readonly<{ message: RpcMessage; isLate: () => boolean }>;

type Answer = (one: unknown, turn: Turn, isFull?: boolean) => Promise<string | undefined>;

/** Makes a dispatcher for methods, of which those in enabled namespaces can be called. */
export function createDispatcher(
  methods: readonly Method[],
  context: ServedContext,
  { logger, messageMs = usualMessageMs }: Readonly<{ logger: Logger; messageMs?: number | undefined }>,
): Dispatcher {
  const callable = methods.filter(({ namespace }) => context.enabled.has(namespace));
  const byName = new Map(callable.map((method) => [method.name, method]));
  const call = async (input: unknown, { caller, signal, connection }: Turn): Promise<unknown> => {
    const { method: name, params } = requestOf(input);
    const method = byName.get(name);
    if (!method) throw new RpcError(rpcCodes.methodNotFound, `the method ${name} does not exist/is not available`);
    const reads = boundReads(context.reads, { caller, signal });
    const attributes = { 'rpc.system.name': 'jsonrpc', 'rpc.method': name };
    return await span(name, { kind: 'server', attributes }, async () =>
      method.call({ ...context, reads, caller, signal, connection }, params),
    );
  };
  const answer: Answer = async (one, turn, isFull) => {
    if (isNotification(one)) {
      await call(one, turn).catch((caught: unknown) => report(caught, logger));
      return undefined;
    }
    const id = turn.message.idOf(one);
    try {
      if (isFull) throw new RpcError(rpcCodes.responseTooLarge, 'response too large');
      if (id === undefined) throw new RpcError(rpcCodes.invalidRequest, 'invalid request');
      if (turn.isLate()) throw late();
      return await resultInTurns(id, await call(one, turn));
    } catch (caught) {
      const error = errorBody(turn.isLate() && toAppError(caught).code === 'CANCELLED' ? late() : caught);
      report(caught, logger);
      return errorText(id ?? 'null', error);
    }
  };
  return async (text, sender) => {
    const message = parsed(text);
    if (typeof message === 'string') return message;
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), messageMs);
    const signal = AbortSignal.any([sender.signal, deadline.signal]);
    const turn = { ...sender, signal, message, isLate: () => deadline.signal.aborted };
    try {
      return await (Array.isArray(message.value)
        ? answerAll(message.value, turn, answer)
        : answer(message.value, turn));
    } finally {
      clearTimeout(timer);
    }
  };
}

/** Answers a batch; nothing where its sender has gone. */
async function answerAll(options: readonly unknown[], turn: Turn, answer: Answer): Promise<string | undefined> {
  const refusal = refusalOf(options, turn.message);
  if (refusal !== undefined) return refusal;
  return await answerBatch(options, {
    answer: async (one, isFull) => await answer(one, turn, isFull),
    mostCharacters: limits.responseSize,
    isGone: () => turn.signal.aborted && !turn.isLate(),
  });
}

const late = (): RpcError => new RpcError(rpcCodes.timeout, 'request timed out');

/** Logs faults of this program; a simulation may fail with that code because of its request. */
function report(caught: unknown, logger: Logger): void {
  if (caught instanceof RpcError || errorBody(caught).code !== rpcCodes.internal) return;
  logger.error({ err: caught }, 'JSON-RPC request failed');
}

/** The decoded message, or the answer to one that cannot be read. */
function parsed(text: string): RpcMessage | string {
  try {
    return parseMessage(text);
  } catch (caught) {
    const why = caught instanceof TooComplex ? ': nested too deep, or too many values' : '';
    return errorText('null', { code: rpcCodes.parse, message: `parse error${why}` });
  }
}

/** The answer to a batch of none or too many; as geth does, under the id of its first request. */
function refusalOf(given: readonly unknown[], message: RpcMessage): string | undefined {
  if (given.length === 0) return errorText('null', { code: rpcCodes.invalidRequest, message: 'empty batch' });
  if (given.length <= limits.requests) return undefined;
  const first = given.find((one) => !isNotification(one) && message.idOf(one) !== undefined);
  const error = { code: rpcCodes.invalidRequest, message: 'batch too large' };
  return `[${errorText(message.idOf(first) ?? 'null', error)}]`;
}

function isNotification(given: unknown): boolean {
  if (given === null || typeof given !== 'object' || 'id' in given) return false;
  return 'method' in given && typeof given.method === 'string' && 'jsonrpc' in given && given.jsonrpc === '2.0';
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
