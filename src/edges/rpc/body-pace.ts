import { Code, ConnectError } from '@connectrpc/connect';
import type { UniversalServerRequest } from '@connectrpc/connect/protocol';
import { type AwakeClock, createAwakeClock } from '../../kit/wait.ts';

/** Which calls send bytes, how many a second they must, and over which time that is measured. */
export type BodyPace = Readonly<{ paths: readonly string[]; bytesPerSecond: number; windowMs: number }>;

/**
 * Ends the reading of a call's body with DEADLINE_EXCEEDED once it comes too slowly.
 *
 * Only the time counts in which somebody waits for bytes: a reader that waits for its own disk slows nobody down, nor
 * does a process that stands still.
 */
export function withPace<Request extends Pick<UniversalServerRequest, 'body'>>(
  request: Request,
  path: string,
  pace: BodyPace | undefined,
): Request {
  const { body } = request;
  if (!pace?.paths.includes(path) || !isBytes(body)) return request;
  return { ...request, body: new PacedBody(body, pace) };
}

function isBytes(body: UniversalServerRequest['body']): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body;
}

const checksPerWindow = 4;

/** Chunks as long as enough of them come; one timer serves all of them. */
class PacedBody implements AsyncIterable<Uint8Array>, AsyncIterator<Uint8Array> {
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #windowMs: number;
  readonly #leastBytes: number;
  /** Runs while a reader waits. */
  readonly #clock: AwakeClock;
  #windowStartMs = 0;
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Fails the reader that waits. */
  #fail: ((reason: ConnectError) => void) | undefined;

  constructor(body: AsyncIterable<Uint8Array>, { bytesPerSecond, windowMs }: BodyPace) {
    this.#chunks = body[Symbol.asyncIterator]();
    this.#windowMs = windowMs;
    this.#leastBytes = (bytesPerSecond * windowMs) / 1000;
    this.#clock = createAwakeClock(windowMs / checksPerWindow);
    this.#clock.pause();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    return new Promise((resolve, reject) => {
      this.#fail = reject;
      this.#clock.resume();
      this.#timer ??= setInterval(() => this.#check(), this.#windowMs / checksPerWindow).unref();
      this.#delivered().then(resolve, reject);
    });
  }

  async #delivered(): Promise<IteratorResult<Uint8Array>> {
    try {
      const result = await this.#chunks.next();
      if (result.done === true) this.#stop();
      else this.#bytes += result.value.length;
      return result;
    } catch (caught) {
      this.#stop();
      throw caught;
    } finally {
      this.#fail = undefined;
      this.#clock.pause();
    }
  }

  /** A read that waits for a chunk is not waited for: the stream's own iterator would do that. */
  return(): Promise<IteratorResult<Uint8Array>> {
    this.#stop();
    this.#chunks.return?.().catch(() => undefined);
    return Promise.resolve({ done: true, value: undefined });
  }

  #check(): void {
    this.#clock.check();
    if (this.#clock.now() - this.#windowStartMs < this.#windowMs) return;
    if (this.#bytes < this.#leastBytes) {
      this.#fail?.(tooSlow());
      return;
    }
    // A window that was fast enough is followed by one in which nothing came yet.
    this.#windowStartMs = this.#clock.mark();
    this.#bytes = 0;
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

function tooSlow(): ConnectError {
  return new ConnectError('The bytes of the call come too slowly', Code.DeadlineExceeded);
}
