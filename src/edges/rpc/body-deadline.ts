import type { UniversalServerRequest } from '@connectrpc/connect/protocol';
import { parseTimeout as parseConnectTimeout } from '@connectrpc/connect/protocol-connect';
import { headerTimeout, parseTimeout } from '@connectrpc/connect/protocol-grpc';
import { deadlinePassed, startDeadline } from '../../kit/shims/connect/deadline.ts';

const connectHeader = 'connect-timeout-ms';

/**
 * Ends the reading of a call's body with DEADLINE_EXCEEDED once the time that its client set has run out.
 *
 * The library's deadline aborts the signal of a call alone: a call that waits for its body would wait on. A call
 * without a deadline is returned as it is.
 */
export function withDeadline<Request extends Pick<UniversalServerRequest, 'header' | 'body'>>(
  request: Request,
): Request {
  const { header, body } = request;
  const timeoutMs =
    parseTimeout(header.get(headerTimeout), Number.MAX_SAFE_INTEGER).timeoutMs ??
    parseConnectTimeout(header.get(connectHeader), Number.MAX_SAFE_INTEGER).timeoutMs;
  if (timeoutMs === undefined || !isBytes(body)) return request;
  return { ...request, body: new BoundedBody(body, performance.now() + timeoutMs) };
}

function isBytes(body: UniversalServerRequest['body']): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body;
}

/** Chunks until the deadline; a timer runs only while the reader waits for one. */
class BoundedBody implements AsyncIterable<Uint8Array>, AsyncIterator<Uint8Array> {
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #atMs: number;

  constructor(body: AsyncIterable<Uint8Array>, atMs: number) {
    this.#chunks = body[Symbol.asyncIterator]();
    this.#atMs = atMs;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    const leftMs = this.#atMs - performance.now();
    if (leftMs <= 0) throw deadlinePassed();
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = startDeadline(leftMs, reject);
    const chunk = this.#chunks.next();
    chunk.catch(() => undefined);
    return await Promise.race([chunk, late]).finally(() => clearTimeout(timer));
  }

  /** A read that waits for a chunk is not waited for: the stream's own iterator would do that. */
  return(): Promise<IteratorResult<Uint8Array>> {
    this.#chunks.return?.().catch(() => undefined);
    return Promise.resolve({ done: true, value: undefined });
  }
}
