import { Agent, request } from 'undici';
import { toAppError } from '../../kit/errors.ts';
import { currentTraceparent } from '../../kit/tracing/tracing.ts';
import { retryAfterMs } from '../../kit/wait.ts';
import { type AddressRules, checkLiteral, guardedLookup } from './addresses.ts';
import { type RequestConsent, createConsents, type Delivering } from './consent.ts';

/** A message as it goes out. */
export type HookMessage = Readonly<{ url: string; headers: Readonly<Record<string, string>>; body: Uint8Array }>;

/** What came of an attempt; `waitMs` is how long the receiver requests us to wait. */
export type HookAttempt = Readonly<{ outcome: 'acknowledged'; status: number }> | FailedAttempt;

/** An attempt that was not acknowledged. */
export type FailedAttempt = Readonly<{
  outcome: 'gone' | 'failed';
  status?: number;
  reason: string;
  waitMs: number;
}>;

/** Sends messages to receivers, who are strangers: every one is bounded in time and size. */
export type HookSender = Readonly<{
  /**
   * Waits until a receiver may be sent to, which it is asked before the first delivery and after one that failed;
   * returns why it may not, if so. Never fails but when its signal ends it.
   */
  admit: (delivering: Delivering, signal: AbortSignal) => Promise<FailedAttempt | undefined>;
  /** One attempt; never fails but when its signal ends it. */
  send: (message: HookMessage, signal: AbortSignal) => Promise<HookAttempt>;
  close: () => Promise<void>;
}>;

/** How long a receiver has for its answer. */
const answerWithinMs = 15_000;
const connectWithinMs = 5_000;
/** What is read of an answer's body before its connection is closed. */
const droppedBytes = 16 * 1024;
const droppedWithinMs = 1_000;
const goneStatus = 410;

/** How a sender works: `withinMs` is how long a receiver has for its answer, `needsConsent` whether silence refuses. */
export type HookSenderOptions = AddressRules & Readonly<{ version: string; withinMs?: number; needsConsent?: boolean }>;

/**
 * Makes a sender: status 200 to 299 acknowledges, redirects are not followed, and an answer's body is dropped.
 *
 * @example await createSender({ allowPrivate: false, version }).send({ url, headers, body }, signal)
 */
export function createSender({
  version,
  withinMs = answerWithinMs,
  needsConsent = false,
  ...rules
}: HookSenderOptions): HookSender {
  // Without a bound for each host: hooks bound what they send at once, and one must not wait for another's receiver.
  const agent = new Agent({
    maxHeaderSize: droppedBytes,
    connect: { timeout: connectWithinMs, lookup: guardedLookup(rules) },
  });
  const requested = async (url: string, { signal, ...options }: Requested): Promise<Answered> => {
    checkLiteral(new URL(url), rules);
    const limited = AbortSignal.any([signal, AbortSignal.timeout(withinMs)]);
    const headers = { 'user-agent': `annals/${version}`, ...options.headers };
    const answer = await request(url, { ...options, headers, dispatcher: agent, signal: limited });
    // Its status says all: a body that goes on and on holds up no delivery.
    const dropping = AbortSignal.any([limited, AbortSignal.timeout(droppedWithinMs)]);
    await answer.body.dump({ limit: droppedBytes, signal: dropping }).catch(() => undefined);
    return answer;
  };
  const requestConsent: RequestConsent = async ({ url, origin }, signal) => {
    const headers = { 'webhook-request-origin': origin };
    const answer = await requested(url, { method: 'OPTIONS', headers, signal }).catch(() => undefined);
    const named = (name: string) => answer?.headers[name]?.toString();
    return answer && { origin: named('webhook-allowed-origin'), rate: named('webhook-allowed-rate') };
  };
  const consents = createConsents(requestConsent, needsConsent);
  const post: HookSender['send'] = async ({ url, headers: own, body }, signal) => {
    const traceparent = currentTraceparent();
    const origin = consents.known(url)?.origin;
    const headers = {
      'content-type': 'application/cloudevents+json',
      ...(origin !== undefined && { origin }),
      ...(traceparent !== undefined && { traceparent }),
      ...own,
    };
    try {
      const answer = await requested(url, { method: 'POST', headers, body, signal });
      return attemptOf(answer.statusCode, retryAfterMs(answer.headers['retry-after']));
    } catch (caught) {
      signal.throwIfAborted();
      return { outcome: 'failed', reason: reasonOf(caught, withinMs), waitMs: 0 };
    }
  };
  return {
    admit: async (delivering, signal) => {
      const { refusal } = await consents.next(delivering, signal);
      return refusal === undefined ? undefined : { outcome: 'failed', reason: refusal, waitMs: 0 };
    },
    send: async (message, signal) => {
      const attempt = await post(message, signal);
      if (attempt.outcome !== 'acknowledged') consents.renew(message.url);
      return attempt;
    },
    close: () => agent.destroy(),
  };
}

type Requested = Readonly<{
  method: 'OPTIONS' | 'POST';
  headers: Readonly<Record<string, string>>;
  body?: Uint8Array;
  signal: AbortSignal;
}>;

type Answered = Readonly<{ statusCode: number; headers: Readonly<Record<string, string | string[] | undefined>> }>;

function attemptOf(status: number, waitMs: number): HookAttempt {
  if (status >= 200 && status < 300) return { outcome: 'acknowledged', status };
  if (status === goneStatus) return { outcome: 'gone', status, reason: 'the receiver answered 410 Gone', waitMs: 0 };
  const isRedirect = status >= 300 && status < 400;
  const reason = `the receiver answered ${status}${isRedirect ? '; redirects are not followed' : ''}`;
  return { outcome: 'failed', status, reason, waitMs };
}

function reasonOf(caught: unknown, withinMs: number): string {
  const error = toAppError(caught).cause ?? caught;
  if (!(error instanceof Error)) return 'the connection broke';
  if (error.name === 'TimeoutError') return `no answer within ${withinMs / 1000} s`;
  if (error.name === 'NotPublic') return error.message;
  if (error.name === 'HTTPParserError') return 'the answer is no HTTP';
  if (error.name === 'HeadersOverflowError') return `the answer has headers of more than ${droppedBytes} bytes`;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return code === '' ? 'the connection broke' : `no connection: ${code}`;
}
