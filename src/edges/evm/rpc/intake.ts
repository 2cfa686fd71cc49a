import { AppError } from '../../../kit/errors.ts';

/** Limits of what is under way: how many of one caller, their bytes, and the bytes of all callers. */
export type IntakeBounds = Readonly<{ entries: number; bytes: number; bytesOfAll: number; refusal: string }>;

const mebibyte = 1024 * 1024;
/** Of requests: their bodies. */
const requestBounds: IntakeBounds = {
  entries: 4_000,
  bytes: 64 * mebibyte,
  bytesOfAll: 256 * mebibyte,
  refusal: 'too many requests at once; send them again once some are answered',
};
/** Of responses that their clients have not taken yet. */
export const unreadBounds: IntakeBounds = {
  entries: Infinity,
  bytes: 128 * mebibyte,
  bytesOfAll: 512 * mebibyte,
  refusal: 'too many answers are unread; read those first',
};
/** Of the conditions of subscriptions. */
export const conditionBounds: IntakeBounds = {
  entries: Infinity,
  bytes: 32 * mebibyte,
  bytesOfAll: 256 * mebibyte,
  refusal: 'too many subscriptions with conditions, or conditions too long; end some',
};

/** Of connections over WebSocket; their bytes count with what is sent on them. */
export const connectionBounds: IntakeBounds = {
  entries: 256,
  bytes: Infinity,
  bytesOfAll: Infinity,
  refusal: 'too many connections of one address',
};

/** One request, response, subscription or connection under way. */
export type Admitted = Readonly<{
  /** Counts bytes of it. Fails with `TOO_MANY_REQUESTS` beyond a bound; its caller's, where that has others. */
  grow: (bytes: number) => void;
  /** Counts bytes of it no longer. */
  shrink: (bytes: number) => void;
  /** Ends it; safe to repeat. */
  leave: () => void;
}>;

/** Bounds what callers have under way, so that none of them fills memory or blocks the others. */
export class CallIntake {
  readonly #most: IntakeBounds;
  readonly #callers = new Map<string, { entries: number; bytes: number }>();
  #bytes = 0;

  constructor(bounds: IntakeBounds = requestBounds) {
    this.#most = bounds;
  }

  /** Starts an entry of a caller. Fails with `TOO_MANY_REQUESTS` where it has too many under way. */
  enter(caller: string): Admitted {
    const { entries, bytes: ofCaller, bytesOfAll, refusal } = this.#most;
    const own = this.#callers.get(caller) ?? { entries: 0, bytes: 0 };
    if (own.entries >= entries) throw new AppError('TOO_MANY_REQUESTS', refusal);
    own.entries += 1;
    this.#callers.set(caller, own);
    let size = 0;
    let isOver = false;
    const count = (bytes: number): void => {
      size += bytes;
      own.bytes += bytes;
      this.#bytes += bytes;
    };
    return {
      grow: (bytes) => {
        const isTooMuch = (own.bytes > 0 && own.bytes + bytes > ofCaller) || this.#bytes + bytes > bytesOfAll;
        if (isOver || isTooMuch) throw new AppError('TOO_MANY_REQUESTS', refusal);
        count(bytes);
      },
      shrink: (bytes) => {
        if (!isOver) count(-bytes);
      },
      leave: () => {
        if (isOver) return;
        isOver = true;
        count(-size);
        own.entries -= 1;
        if (own.entries === 0) this.#callers.delete(caller);
      },
    };
  }
}
