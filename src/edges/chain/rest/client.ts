import pLimit from 'p-limit';
import pRetry from 'p-retry';
import { Agent } from 'undici';
import { wait } from '../../../kit/wait.ts';
import { type Answer, requestChain } from './answer.ts';
import { ChainFailure } from './failure.ts';
import type { NetworkProfile } from './profile.ts';
import { asObject, attempt, BadRecord, freeText, height as heightOf, timeOfText } from './values.ts';

/** Options of a request: query parameters, and the height whose state it reads (by default the latest). */
export type Requesting = Readonly<{ query?: Readonly<Record<string, string>>; height?: number | undefined }>;

/** The requests of one round, counted. */
export type ChainSession = Readonly<{
  /**
   * Requests a route; fails with a `ChainFailure` unless the response is a 200. Routes that start with `~` lie below
   * the profile's prefix.
   */
  get: (route: string, requesting?: Requesting) => Promise<Answer>;
  /** The same, where 404 is an answer: undefined. */
  find: (route: string, querying?: Requesting) => Promise<Answer | undefined>;
  /** Sends JSON to a route once, for up to 30 s: without a response the outcome is unknown. */
  post: (route: string, sent: object) => Promise<Answer>;
  /** HTTP requests made so far, repeated ones included. */
  requests: () => number;
}>;

/** How long one request may take, all requests of a round, and until a request is first repeated. */
export type ClientLimits = Readonly<{ timeLimitMs: number; startMs: number; averageMs: number; repeatMs: number }>;

/** A chain's REST, bounded in every way. */
export type ChainClient = Readonly<{ session: (signal?: AbortSignal) => ChainSession; close: () => Promise<void> }>;

const timeLimitMs = 10_000;
/**
 * A chain may take this long with the answers of a round before their average counts, and with each on average then.
 */
const patience = { startMs: 600_000, averageMs: 5_000 };
const atOnce = 8;
/** A chain may answer what it is sent only once its block is there. */
const postLimitMs = 30_000;
const repeats = { retries: 3, maxTimeout: 2_000, factor: 2, randomize: true };

/**
 * A client of a chain's REST at a base address.
 *
 * At most 8 reads at once, 10 s and 8 MB each; redirects are not followed and anything but plain JSON is refused. The
 * client retries 429, 5xx and broken connections three times with jitter, unless the node reports that it has pruned
 * the state; it honours a requested wait up to 10 s, and longer ones end the round. A chain that is slow with every
 * response ends it too.
 *
 * @example const { body } = await createChainClient(base, profile).session(signal).get('~/action/v1/params')
 */
export function createChainClient(
  base: string,
  profile: Pick<NetworkProfile, 'restPrefix'>,
  limits: ClientLimits = { timeLimitMs, ...patience, repeatMs: 200 },
): ChainClient {
  const agent = new Agent({ connections: atOnce, connect: { timeout: limits.timeLimitMs } });
  const posting = new Agent({ connect: { timeout: limits.timeLimitMs } });
  const limit = pLimit(atOnce);
  const urlOf = (route: string, query: Requesting['query']): string => {
    const search = new URLSearchParams(query).toString().replaceAll('+', '%20');
    return `${base.replace(/\/+$/, '')}${route.replace(/^~/, profile.restPrefix)}${search === '' ? '' : `?${search}`}`;
  };
  const session = (signal = new AbortController().signal): ChainSession => {
    let requests = 0;
    let waitedMs = 0;
    const once = (route: string, { query, height }: Requesting): Promise<Answer> =>
      limit(async () => {
        signal.throwIfAborted();
        if (waitedMs > limits.startMs + limits.averageMs * requests)
          throw new ChainFailure('unreachable', 'The chain takes too long with every answer');
        requests += 1;
        const startedAt = performance.now();
        const call = { route: route.replace(/^~/, ''), height, agent, signal, timeLimitMs: limits.timeLimitMs };
        return requestChain(urlOf(route, query), call).finally(() => (waitedMs += performance.now() - startedAt));
      });
    const get: ChainSession['get'] = (route, asking = {}) =>
      pRetry(() => once(route, asking), {
        ...repeats,
        minTimeout: limits.repeatMs,
        signal,
        shouldRetry: ({ error }) => error instanceof ChainFailure && error.isPassing,
        onFailedAttempt: async ({ error, retriesLeft }) => {
          const waitMs = error instanceof ChainFailure && error.isPassing ? (error.retryAfterMs ?? 0) : 0;
          if (retriesLeft > 0 && waitMs > 0) await wait(waitMs, signal);
        },
      });
    const find: ChainSession['find'] = async (route, asking) => {
      try {
        return await get(route, asking);
      } catch (caught) {
        if (caught instanceof ChainFailure && caught.status === 404) return undefined;
        throw caught;
      }
    };
    const post: ChainSession['post'] = async (route, sent) => {
      requests += 1;
      const call = { route: route.replace(/^~/, ''), agent: posting, signal, timeLimitMs: postLimitMs, sent };
      return await requestChain(urlOf(route, undefined), call);
    };
    return { get, find, post, requests: () => requests };
  };
  return { session, close: async () => void (await Promise.all([agent.destroy(), posting.destroy()])) };
}

/** The chain's head: everything of a round is read as it was at this height. */
export type ChainHead = Readonly<{
  chainId: string;
  height: number;
  /** RFC 3339, UTC, to the second. */ time: string;
}>;

/** Reads the latest block. */
export async function readHead(session: ChainSession): Promise<ChainHead> {
  const { body } = await session.get('/cosmos/base/tendermint/v1beta1/blocks/latest');
  const read = attempt(() => headOf(body));
  if ('reason' in read) throw new ChainFailure('bad_answer', `The latest block cannot be read: ${read.reason}`);
  return read.value;
}

function headOf(body: unknown): ChainHead {
  const header = asObject(asObject(asObject(body)?.['block'])?.['header']);
  const [chainId, time] = [freeText(header?.['chain_id'], 'chain_id'), timeOfText(header?.['time'])];
  if (chainId === '' || time === undefined) throw new BadRecord('it has no chain id or no time');
  return { chainId, height: heightOf(header?.['height'], 'height'), time };
}

/** Undefined where the node does not report it. */
export async function lowestShown(session: ChainSession, height: number): Promise<number | undefined> {
  try {
    await session.get(`/cosmos/base/tendermint/v1beta1/blocks/${height}`);
    return height;
  } catch (caught) {
    if (caught instanceof ChainFailure && caught.status !== undefined) return caught.lowestHeight;
    throw caught;
  }
}
