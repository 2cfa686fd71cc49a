import { Code, ConnectError } from '@connectrpc/connect';
import type { UniversalServerRequest } from '@connectrpc/connect/protocol';

/** Which calls send bytes, how many a second they must, and over which time that is measured. */
export type BodyPace = Readonly<{ paths: readonly string[]; bytesPerSecond: number; windowMs: number }>;

/**
 * Ends the reading of a call's body with DEADLINE_EXCEEDED once it comes too slowly.
 *
 * Only the time counts in which somebody waits for bytes: a reader that waits for its own disk slows nobody down.
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

/** Chunks as long as enough of them come; one timer serves all of them. */
class PacedBody implements AsyncIterable<Uint8Array>, AsyncIterator<Uint8Array> {
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #windowMs: number;
  readonly #leastBytes: number;
  #waitedMs = 0;
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;
  /** The reader that waits, and since when. */
  #waiting: Readonly<{ sinceMs: number; fail: (reason: ConnectError) => void }> | undefined;

  constructor(body: AsyncIterable<Uint8Array>, { bytesPerSecond, windowMs }: BodyPace) {
    this.#chunks = body[Symbol.asyncIterator]();
    this.#windowMs = windowMs;
    this.#leastBytes = (bytesPerSecond * windowMs) / 1000;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    return new Promise((resolve, reject) => {
      const sinceMs = performance.now();
      this.#waiting = { sinceMs, fail: reject };
      this.#timer ??= this.#timerFor(this.#windowMs - this.#waitedMs);
      this.#delivered(sinceMs).then(resolve, reject);
    });
  }

  async #delivered(sinceMs: number): Promise<IteratorResult<Uint8Array>> {
    try {
      const result = await this.#chunks.next();
      this.#count(this.#waitedMs + performance.now() - sinceMs, result.done === true ? 0 : result.value.length);
      if (result.done === true) this.#stop();
      return result;
    } catch (caught) {
      this.#stop();
      throw caught;
    }
  }

  /** A read that waits for a chunk is not waited for: the stream's own iterator would do that. */
  return(): Promise<IteratorResult<Uint8Array>> {
    this.#stop();
    this.#chunks.return?.().catch(() => undefined);
    return Promise.resolve({ done: true, value: undefined });
  }

  #timerFor(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.#check(), ms).unref();
  }

  /** A window that was fast enough is followed by one in which nothing came yet. */
  #check(): void {
    this.#timer = undefined;
    if (!this.#waiting) return;
    const waitedMs = this.#waitedMs + performance.now() - this.#waiting.sinceMs;
    const limitMs = this.#bytes < this.#leastBytes ? this.#windowMs : 2 * this.#windowMs;
    if (waitedMs >= limitMs) this.#waiting.fail(tooSlow());
    else this.#timer = this.#timerFor(limitMs - waitedMs);
  }

  #count(waitedMs: number, bytes: number): void {
    this.#waiting = undefined;
    this.#bytes += bytes;
    this.#waitedMs = waitedMs;
    if (waitedMs < this.#windowMs) return;
    this.#waitedMs = 0;
    this.#bytes = 0;
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

function tooSlow(): ConnectError {
  return new ConnectError('The bytes of the call come too slowly', Code.DeadlineExceeded);
}
