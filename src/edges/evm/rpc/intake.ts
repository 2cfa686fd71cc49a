import { AppError } from '../../../kit/errors.ts';

/** Limits of requests under way and of their bytes: of one caller, and bytes of all callers. */
const most = { requests: 4_000, bytes: 64 * 1024 * 1024, bytesOfAll: 256 * 1024 * 1024 };

/** One request under way. */
export type Admitted = Readonly<{
  /** Counts bytes of it. Fails with `TOO_MANY_REQUESTS` beyond a bound. */
  grow: (bytes: number) => void;
  /** Ends it; safe to repeat. */
  leave: () => void;
}>;

/** Bounds the requests of callers under way, so that none of them fills memory or blocks the others. */
export class CallIntake {
  readonly #callers = new Map<string, { requests: number; bytes: number }>();
  #bytes = 0;

  /** Starts a request of a caller. Fails with `TOO_MANY_REQUESTS` where it has too many under way. */
  enter(caller: string): Admitted {
    const own = this.#callers.get(caller) ?? { requests: 0, bytes: 0 };
    if (own.requests >= most.requests) throw tooMany();
    own.requests += 1;
    this.#callers.set(caller, own);
    let size = 0;
    let isOver = false;
    return {
      grow: (bytes) => {
        if (own.bytes + bytes > most.bytes || this.#bytes + bytes > most.bytesOfAll) throw tooMany();
        size += bytes;
        own.bytes += bytes;
        this.#bytes += bytes;
      },
      leave: () => {
        if (isOver) return;
        isOver = true;
        own.requests -= 1;
        own.bytes -= size;
        this.#bytes -= size;
        if (own.requests === 0) this.#callers.delete(caller);
      },
    };
  }
}

function tooMany(): AppError {
  return new AppError('TOO_MANY_REQUESTS', 'too many requests at once; send them again once some are answered');
}
