import { Code, ConnectError } from '@connectrpc/connect';
import type { UniversalServerRequest } from '@connectrpc/connect/protocol';

/** Which calls send bytes, how many a second they must, and over which time that is measured. */
export type BodyPace = Readonly<{ paths: readonly string[]; bytesPerSecond: number; windowMs: number }>;

/**
 * Ends the reading of a call's body with DEADLINE_EXCEEDED once it comes too slowly.
 *
 * Only the time counts in which somebody waits for bytes: a reader that waits for its own disk slows nobody down.
 */
export function withPace<Request extends Pick<UniversalServerRequest, 'url' | 'body'>>(
  request: Request,
  pace: BodyPace | undefined,
): Request {
  const { body, url } = request;
  if (!pace?.paths.includes(new URL(url).pathname) || !isBytes(body)) return request;
  return { ...request, body: new PacedBody(body, pace) };
}

function isBytes(body: UniversalServerRequest['body']): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body;
}

/** Chunks as long as enough of them come; a timer runs only while somebody waits for one. */
class PacedBody implements AsyncIterable<Uint8Array>, AsyncIterator<Uint8Array> {
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #windowMs: number;
  readonly #leastBytes: number;
  #waitedMs = 0;
  #bytes = 0;

  constructor(body: AsyncIterable<Uint8Array>, { bytesPerSecond, windowMs }: BodyPace) {
    this.#chunks = body[Symbol.asyncIterator]();
    this.#windowMs = windowMs;
    this.#leastBytes = (bytesPerSecond * windowMs) / 1000;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    const startedAtMs = performance.now();
    const before = this.#waitedMs;
    const chunk = this.#chunks.next();
    chunk.catch(() => undefined);
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      if (this.#bytes < this.#leastBytes) reject(tooSlow());
    }, this.#windowMs - before);
    // A window that was fast enough is followed by one in which nothing came yet.
    const following = setTimeout(() => reject(tooSlow()), 2 * this.#windowMs - before);
    try {
      const result = await Promise.race([chunk, late]);
      this.#count(before + performance.now() - startedAtMs, result.done === true ? 0 : result.value.length);
      return result;
    } finally {
      clearTimeout(timer);
      clearTimeout(following);
    }
  }

  /** A read that waits for a chunk is not waited for: the stream's own iterator would do that. */
  return(): Promise<IteratorResult<Uint8Array>> {
    this.#chunks.return?.().catch(() => undefined);
    return Promise.resolve({ done: true, value: undefined });
  }

  #count(waitedMs: number, bytes: number): void {
    this.#bytes += bytes;
    this.#waitedMs = waitedMs;
    if (waitedMs < this.#windowMs) return;
    this.#waitedMs = 0;
    this.#bytes = 0;
  }
}

function tooSlow(): ConnectError {
  return new ConnectError('The bytes of the call come too slowly', Code.DeadlineExceeded);
}
