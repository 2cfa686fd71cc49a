import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { DescMethod } from '@bufbuild/protobuf';
import { Code, type Interceptor } from '@connectrpc/connect';
import { toAppError } from '../../kit/errors.ts';
import type { SpanAttributes, OpenSpan } from '../../kit/tracing/spans.ts';
import { annotate, currentTraceparent, isTracing, openSpan } from '../../kit/tracing/tracing.ts';
import { toRpcError } from './codes.ts';

const nameOf = (method: DescMethod): string => `${method.parent.typeName}/${method.name}`;

const attributesOf = (method: DescMethod): SpanAttributes => ({
  'rpc.system.name': 'connectrpc',
  'rpc.method': nameOf(method),
});

/**
 * A span of kind server around a call, up to the end of its answer or of its connection; below the caller's where that
 * sends `traceparent`.
 */
export async function traceCall(
  { method }: Readonly<{ method: DescMethod }>,
  { headers }: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
  call: () => Promise<void>,
): Promise<void> {
  if (!isTracing()) return await call();
  const { traceparent } = headers;
  const parents = typeof traceparent === 'string' ? [traceparent] : [];
  const opened = openSpan(nameOf(method), { kind: 'server', parents, attributes: attributesOf(method) });
  // A client that leaves early may leave the answer pending.
  response.once('close', () => opened.end());
  await opened.within(call);
}

/** Marks the open call as failed, by its code. */
export function markFailure(caught: unknown): void {
  const code = Code[toRpcError(caught).code];
  annotate({ 'rpc.response.status_code': code, 'error.type': code });
}

/** The interceptors of a client: a span of kind client around each call, which the server is sent as `traceparent`. */
export function callSpans(): Interceptor[] {
  return isTracing() ? [traceClientCall] : [];
}

const traceClientCall: Interceptor = (next) => async (request) => {
  const opened = openSpan(nameOf(request.method), { kind: 'client', attributes: attributesOf(request.method) });
  try {
    const response = await opened.within(async () => {
      const traceparent = currentTraceparent();
      if (traceparent !== undefined) request.header.set('traceparent', traceparent);
      return await next(request);
    });
    if (response.stream) return { ...response, message: endingWith(response.message, opened) };
    opened.end();
    return response;
  } catch (caught) {
    failWith(opened, caught);
    throw caught;
  }
};

async function* endingWith<T>(messages: AsyncIterable<T>, opened: OpenSpan): AsyncGenerator<T> {
  try {
    yield* messages;
  } catch (caught) {
    failWith(opened, caught);
    throw caught;
  } finally {
    opened.end();
  }
}

function failWith(opened: OpenSpan, caught: unknown): void {
  opened.fail(toAppError(caught).code);
  opened.end();
}
