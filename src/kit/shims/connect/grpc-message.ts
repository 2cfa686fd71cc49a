/** @connectrpc/connect 2.2.0 encodes more of a message than gRPC requires. */
import type { UniversalServerResponse } from '@connectrpc/connect/protocol';

const header = 'grpc-message';

/**
 * A message as gRPC puts it in a header: printable ASCII as it is, but for `%`, all else percent-encoded.
 *
 * @example grpcMessageOf('50 % über') // 50 %25 %C3%BCber
 */
export function grpcMessageOf(message: string): string {
  return message.replaceAll(/[^ -$&-~]+/gu, encodeURIComponent);
}

/** A response whose message is percent-encoded no further than gRPC requires. */
export function withPlainMessage(response: UniversalServerResponse): UniversalServerResponse {
  const { body, trailer } = response;
  return body && trailer ? { ...response, body: thenPlain(body, trailer) } : response;
}

async function* thenPlain(body: AsyncIterable<Uint8Array>, trailer: Headers): AsyncGenerator<Uint8Array> {
  yield* body;
  makePlain(trailer);
}

/** The trailers of a call for Node’s server, its message percent-encoded no further than gRPC requires. */
export function plainTrailers(trailer: Headers): Record<string, string> {
  makePlain(trailer);
  return Object.fromEntries(trailer);
}

function makePlain(trailer: Headers): void {
  const message = trailer.get(header);
  if (message !== null) trailer.set(header, grpcMessageOf(decodeURIComponent(message)));
}
