import { type Dispatcher, request } from 'undici';
import { toAppError } from '../../../kit/errors.ts';
import { retryAfterMs } from '../../../kit/wait.ts';
import { currentTraceparent, isTracing, span } from '../../../kit/tracing/tracing.ts';
import { parseBounded, TooComplex } from '../../../kit/bounded-json.ts';
import { ChainFailure, refusal } from './failure.ts';

const greatestAnswerBytes = 8 * 1024 * 1024;

/** A response of the chain: JSON that is not validated yet, the height of its state, and its size. */
export type Answer = Readonly<{ body: unknown; height: number | undefined; bytes: number }>;

/** One request: its target, in words that may be shown, and the signal that ends it. */
export type ChainRequest = Readonly<{
  route: string;
  height?: number | undefined;
  /** The JSON of a POST, if it is one. */
  sent?: object;
  agent: Dispatcher;
  signal: AbortSignal;
  timeLimitMs: number;
}>;

/**
 * Sends one request; fails with a `ChainFailure` unless the response is a 200 in plain JSON, within its bounds of time,
 * size and shape.
 */
export async function requestChain(url: string, call: ChainRequest): Promise<Answer> {
  if (!isTracing()) return await send(url, call);
  const [method, template, { hostname }] = [call.sent ? 'POST' : 'GET', templateOf(call.route), new URL(url)];
  const attributes = { 'http.request.method': method, 'url.template': template, 'server.address': hostname };
  return await span(`${method} ${template}`, { kind: 'client', attributes }, () => send(url, call));
}

async function send(url: string, call: ChainRequest): Promise<Answer> {
  const { route, height, agent, signal, timeLimitMs, sent } = call;
  const limited = AbortSignal.any([signal, AbortSignal.timeout(timeLimitMs)]);
  const traceparent = currentTraceparent();
  const headers = {
    accept: 'application/json',
    'accept-encoding': 'identity',
    ...(height === undefined ? {} : { 'x-cosmos-block-height': String(height) }),
    ...(sent && { 'content-type': 'application/json' }),
    ...(traceparent !== undefined && { traceparent }),
  };
  try {
    const posted = sent && { method: 'POST' as const, body: JSON.stringify(sent) };
    const answer = await request(url, { dispatcher: agent, signal: limited, headers, ...posted });
    const { text, bytes } = await readBounded(answer.body, route);
    const isPlain = ['identity', ''].includes(String(answer.headers['content-encoding'] ?? ''));
    const isJson = isPlain && String(answer.headers['content-type'] ?? '').includes('json');
    const body = isJson ? parsed(text, route) : undefined;
    if (answer.statusCode !== 200)
      throw refusalOf(answer.statusCode, { isJson, body, route, waitMs: retryAfterMs(answer.headers['retry-after']) });
    if (!isJson) throw new ChainFailure('bad_answer', `The chain’s answer to ${route} is no JSON`);
    const at = Number(answer.headers['grpc-metadata-x-cosmos-block-height']);
    return { body, height: Number.isSafeInteger(at) && at > 0 ? at : undefined, bytes };
  } catch (caught) {
    if (caught instanceof ChainFailure) throw caught;
    signal.throwIfAborted();
    throw unreachable(route, caught, timeLimitMs);
  }
}

/** A segment of a path that names one thing: a number, a hash, an account. */
const named = /(?<=\/)(?:\d+|[\da-f]{40,}|[a-z]+1[a-z\d]{30,})(?=\/|$)/gi;

/** A route without ids, by which requests can be grouped. */
const templateOf = (route: string): string => route.replace(named, '{id}');

function refusalOf(
  status: number,
  { isJson, body, route, waitMs }: { isJson: boolean; body: unknown; route: string; waitMs: number },
): ChainFailure {
  const isForeign404 = status === 404 && !isJson;
  return isForeign404
    ? new ChainFailure('bad_answer', `Whatever answers for the chain does not know ${route}`)
    : refusal(route, { status, body, retryAfterMs: waitMs });
}

async function readBounded(body: AsyncIterable<Uint8Array>, route: string): Promise<{ text: string; bytes: number }> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > greatestAnswerBytes) {
      const message = `The chain’s answer to ${route} exceeds ${greatestAnswerBytes} bytes`;
      throw new ChainFailure('bad_answer', message, { isTooLarge: true });
    }
    chunks.push(chunk);
  }
  return { text: Buffer.concat(chunks).toString('utf8'), bytes };
}

function parsed(text: string, route: string): unknown {
  try {
    return parseBounded(text);
  } catch (caught) {
    if (caught instanceof TooComplex)
      throw new ChainFailure('bad_answer', `The chain’s answer to ${route} is nested too deep or has too many values`, {
        isTooLarge: true,
      });
    throw new ChainFailure('bad_answer', `The chain’s answer to ${route} is broken JSON`, {
      isPassing: true,
      cause: caught,
    });
  }
}

function unreachable(route: string, caught: unknown, timeLimitMs: number): ChainFailure {
  const error = toAppError(caught).cause ?? caught;
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
  const isTimeout = error instanceof Error && error.name === 'TimeoutError';
  const what = isTimeout ? `no answer within ${timeLimitMs / 1000} s` : (code ?? 'the connection broke');
  return new ChainFailure('unreachable', `The chain’s REST did not answer ${route}: ${what}`, {
    isPassing: true,
    cause: caught,
  });
}
