import { Agent, request } from 'undici';
import { toAppError } from '../../kit/errors.ts';
import { currentTraceparent } from '../../kit/tracing/tracing.ts';
import { retryAfterMs } from '../../kit/wait.ts';
import { type AddressRules, checkLiteral, guardedLookup } from './addresses.ts';

/** A message as it goes out. */
export type HookMessage = Readonly<{ url: string; headers: Readonly<Record<string, string>>; body: Uint8Array }>;

/** What came of an attempt; `waitMs` is how long the receiver requests us to wait. */
export type HookAttempt = Readonly<
  | { outcome: 'acknowledged'; status: number }
  | { outcome: 'gone' | 'failed'; status?: number; reason: string; waitMs: number }
>;

/** Sends messages to receivers, who are strangers: every one is bounded in time and size. */
export type HookSender = Readonly<{
  /** One attempt; never fails but when its signal ends it. */
  send: (message: HookMessage, signal: AbortSignal) => Promise<HookAttempt>;
  close: () => Promise<void>;
}>;

/** How long a receiver has for its answer. */
const answerWithinMs = 15_000;
const connectWithinMs = 5_000;
/** What is read of an answer's body before its connection is closed. */
const droppedBytes = 16 * 1024;
const connectionsPerReceiver = 16;
const goneStatus = 410;

/** Options of a sender; `withinMs` is how long a receiver has for its answer. */
export type HookSenderOptions = AddressRules & Readonly<{ version: string; withinMs?: number }>;

/**
 * Makes a sender: status 200 to 299 acknowledges, redirects are not followed, and an answer's body is dropped.
 *
 * @example await createSender({ allowPrivate: false, version }).send({ url, headers, body }, signal)
 */
export function createSender({ version, withinMs = answerWithinMs, ...rules }: HookSenderOptions): HookSender {
  const agent = new Agent({
    connections: connectionsPerReceiver,
    maxHeaderSize: droppedBytes,
    connect: { timeout: connectWithinMs, lookup: guardedLookup(rules) },
  });
  const send: HookSender['send'] = async ({ url, headers, body }, signal) => {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(withinMs)]);
    const traceparent = currentTraceparent();
    try {
      checkLiteral(new URL(url), rules);
      const answer = await request(url, {
        method: 'POST',
        dispatcher: agent,
        signal: limited,
        headers: {
          'content-type': 'application/cloudevents+json',
          'user-agent': `annals/${version}`,
          ...(traceparent !== undefined && { traceparent }),
          ...headers,
        },
        body,
      });
      await answer.body.dump({ limit: droppedBytes, signal: limited }).catch(() => undefined);
      return attemptOf(answer.statusCode, retryAfterMs(answer.headers['retry-after']));
    } catch (caught) {
      signal.throwIfAborted();
      return { outcome: 'failed', reason: reasonOf(caught, withinMs), waitMs: 0 };
    }
  };
  return { send, close: () => agent.destroy() };
}

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
  const code = 'code' in error ? String(error.code) : '';
  return code === '' ? 'the connection broke' : `no connection: ${code}`;
}
