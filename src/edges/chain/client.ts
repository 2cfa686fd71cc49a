import pLimit from 'p-limit';
import pRetry from 'p-retry';
import { Agent, type Dispatcher, request } from 'undici';
import { toAppError } from '../../commands/errors.ts';
import { ChainFailure, refusal } from './failure.ts';
import type { NetworkProfile } from './profile.ts';

/** An answer of the chain: JSON that nobody has looked at yet, and the height that it was given at. */
export type Answer = Readonly<{ body: unknown; height: number | undefined }>;

/** What a question is asked with: query parameters, and the height whose state is asked for (else the latest). */
export type Asking = Readonly<{ query?: Readonly<Record<string, string>>; height?: number }>;

/** The requests of one round, counted. */
export type ChainSession = Readonly<{
  /** Asks a route; fails with a `ChainFailure` unless the answer is a 200. Routes that begin with `~` lie below the profile's prefix. */
  get: (route: string, asking?: Asking) => Promise<Answer>;
  /** The same, where 404 is an answer: undefined. */
  find: (route: string, asking?: Asking) => Promise<Answer | undefined>;
  /** HTTP requests made so far, repeated ones included. */
  requests: () => number;
}>;

/** A chain's REST, bounded in every way. */
export type ChainClient = Readonly<{ session: (signal: AbortSignal) => ChainSession; close: () => Promise<void> }>;

const timeLimitMs = 10_000;
const greatestAnswerBytes = 32 * 1024 * 1024;
const atOnce = 8;
const repeats = { retries: 3, minTimeout: 200, maxTimeout: 2_000, factor: 2, randomize: true };

/**
 * A client of a chain's REST at a base address.
 *
 * At most 8 requests at once, 10 s and 32 MB each; redirects are not followed and anything but JSON is refused. 429, 5xx and broken
 * connections are tried three times more with jitter, unless the node says that it has pruned what is asked for.
 *
 * @example const { body } = await createChainClient(base, profile).session(signal).get('~/action/v1/params')
 */
export function createChainClient(base: string, profile: Pick<NetworkProfile, 'restPrefix'>): ChainClient {
  const agent = new Agent({ connections: atOnce, connect: { timeout: timeLimitMs } });
  const limit = pLimit(atOnce);
  const urlOf = (route: string, query: Asking['query']): string => {
    const search = new URLSearchParams(query).toString().replaceAll('+', '%20');
    return `${base.replace(/\/+$/, '')}${route.replace(/^~/, profile.restPrefix)}${search === '' ? '' : `?${search}`}`;
  };
  const session = (signal: AbortSignal): ChainSession => {
    let requests = 0;
    const once = (route: string, { query, height }: Asking): Promise<Answer> =>
      limit(async () => {
        signal.throwIfAborted();
        requests += 1;
        return ask(urlOf(route, query), { route: route.replace(/^~/, ''), height, agent, signal });
      });
    const get: ChainSession['get'] = (route, asking = {}) =>
      pRetry(() => once(route, asking), {
        ...repeats,
        signal,
        shouldRetry: ({ error }) => error instanceof ChainFailure && error.isPassing,
      });
    const find: ChainSession['find'] = async (route, asking) => {
      try {
        return await get(route, asking);
      } catch (caught) {
        if (caught instanceof ChainFailure && caught.status === 404) return undefined;
        throw caught;
      }
    };
    return { get, find, requests: () => requests };
  };
  return { session, close: () => agent.destroy() };
}

type Call = Readonly<{ route: string; height: number | undefined; agent: Dispatcher; signal: AbortSignal }>;

async function ask(url: string, { route, height, agent, signal }: Call): Promise<Answer> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(timeLimitMs)]);
  const headers = {
    accept: 'application/json',
    ...(height === undefined ? {} : { 'x-cosmos-block-height': String(height) }),
  };
  try {
    const answer = await request(url, { dispatcher: agent, signal: limited, headers });
    const text = await readBounded(answer.body, route);
    const isJson = String(answer.headers['content-type'] ?? '').includes('json');
    const body = isJson ? parsed(text, route) : undefined;
    if (answer.statusCode !== 200) throw refusalOf(answer.statusCode, { isJson, body, route });
    if (!isJson) throw new ChainFailure('bad_answer', `The chain’s answer to ${route} is no JSON`);
    const at = Number(answer.headers['grpc-metadata-x-cosmos-block-height']);
    return { body, height: Number.isSafeInteger(at) && at > 0 ? at : undefined };
  } catch (caught) {
    if (caught instanceof ChainFailure) throw caught;
    signal.throwIfAborted();
    throw unreachable(route, caught);
  }
}

function refusalOf(
  status: number,
  { isJson, body, route }: { isJson: boolean; body: unknown; route: string },
): ChainFailure {
  const isForeign404 = status === 404 && !isJson;
  return isForeign404
    ? new ChainFailure('bad_answer', `Whatever answers for the chain does not know ${route}`)
    : refusal(route, status, body);
}

async function readBounded(body: AsyncIterable<Uint8Array>, route: string): Promise<string> {
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
  return Buffer.concat(chunks).toString('utf8');
}

function parsed(text: string, route: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (caught) {
    throw new ChainFailure('bad_answer', `The chain’s answer to ${route} is broken JSON`, {
      isPassing: true,
      cause: caught,
    });
  }
}

function unreachable(route: string, caught: unknown): ChainFailure {
  const error = toAppError(caught).cause ?? caught;
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
  const isTimeout = error instanceof Error && error.name === 'TimeoutError';
  const what = isTimeout ? `no answer within ${timeLimitMs / 1000} s` : (code ?? 'the connection broke');
  return new ChainFailure('unreachable', `The chain’s REST did not answer ${route}: ${what}`, {
    isPassing: true,
    cause: caught,
  });
}
