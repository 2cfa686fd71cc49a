import { AppError } from '../../../kit/errors.ts';
import type { FailureReason } from '../../../commands/sync/sources.ts';

/**
 * Why the chain's answer is of no use: the reason that a failed round records, in words without addresses or secrets.
 */
export class ChainFailure extends AppError {
  readonly reason: FailureReason;
  /** Whether a retry soon may help. */
  readonly isPassing: boolean;
  /** Least height that the node still has, where it reports one. */
  readonly lowestHeight: number | undefined;
  /** Whether the answer was larger than is read; a smaller page may do. */
  readonly isTooLarge: boolean;
  /** How long the chain requests the client to wait. */
  readonly retryAfterMs: number | undefined;
  /** Whether the requested page lies beyond the last one. */
  readonly isBeyondEnd: boolean;
  /** HTTP status, where there was one. */
  readonly status: number | undefined;
  /** The chain's own words, where it refused with some; may hold what a caller sent. */
  readonly words: string | undefined;

  constructor(
    reason: FailureReason,
    message: string,
    details: Readonly<{
      isPassing?: boolean;
      isTooLarge?: boolean;
      lowestHeight?: number | undefined;
      status?: number;
      words?: string | undefined;
      retryAfterMs?: number;
      isBeyondEnd?: boolean;
      cause?: unknown;
    }> = {},
  ) {
    super('UNAVAILABLE', message, { cause: details.cause });
    this.reason = reason;
    this.isPassing = details.isPassing ?? false;
    this.lowestHeight = details.lowestHeight;
    this.isTooLarge = details.isTooLarge ?? false;
    this.isBeyondEnd = details.isBeyondEnd ?? false;
    this.status = details.status;
    this.words = details.words;
    this.retryAfterMs = details.retryAfterMs;
  }
}

const longestWaitMs = 10_000;

/**
 * The meaning of a response other than 200.
 *
 * A node that has pruned a height reports its lowest one, or that the state is gone: a retry does not help. The client
 * honours a requested wait up to 10 s; a longer one ends the round.
 */
export function refusal(
  route: string,
  { status, body, retryAfterMs }: Readonly<{ status: number; body: unknown; retryAfterMs: number }>,
): ChainFailure {
  const reported: unknown = typeof body === 'object' && body !== null && 'message' in body ? body.message : undefined;
  const words = typeof reported === 'string' ? reported : undefined;
  const text = words ?? '';
  const lowest = /lowest height is (\d{1,10})/.exec(text)?.[1];
  if (lowest !== undefined) {
    return new ChainFailure('pruned', `The chain has pruned what ${route} asks for: its lowest height is ${lowest}`, {
      lowestHeight: Number(lowest),
      status,
      words,
    });
  }
  if (text.includes('version does not exist'))
    return new ChainFailure('pruned', `The chain no longer has the state that ${route} asks for`, { status, words });
  if (text.includes('page should be within'))
    return new ChainFailure('bad_answer', `The pages of ${route} have changed`, { status, words, isBeyondEnd: true });
  const isPassing = (status === 429 || (status >= 500 && status !== 501)) && retryAfterMs <= longestWaitMs;
  const reason: FailureReason = status === 429 || (status >= 502 && status <= 504) ? 'unreachable' : 'bad_answer';
  return new ChainFailure(reason, `The chain answered ${status} to ${route}`, {
    isPassing,
    status,
    words,
    retryAfterMs,
  });
}
