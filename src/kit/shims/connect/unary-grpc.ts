/** @connectrpc/connect 2.2.0 leads each call through generators. */
import { Code, ConnectError, createHandlerContext, type MethodImplSpec } from '@connectrpc/connect';
import {
  assertByteStreamRequest,
  compressionNegotiate,
  createMethodSerializationLookup,
  encodeEnvelope,
  envelopeDecompress,
  type EnvelopedMessage,
  invokeUnaryImplementation,
  type ProtocolHandlerFactory,
  type UniversalHandlerFn,
  type UniversalHandlerOptions,
  uResponseOk,
} from '@connectrpc/connect/protocol';
import * as grpc from '@connectrpc/connect/protocol-grpc';
import { correctBlame } from './client-mistakes.ts';

const prefixBytes = 5;
/** Why the signal of a call aborts once it was answered; one for all calls, as each new one records a stack. */
const answered = new DOMException('The call was answered', 'AbortError');

/**
 * gRPC for Connect's router; calls with one message in each direction take a shorter path than the library's.
 *
 * The library leads each call through some ten generators that it makes anew. V8 keeps such a function, and the
 * complete call with it, until the old generation is collected: 28 KiB a call, which at 500 calls a second is most of
 * what one in a hundred of them waits for. Here the library's own parts do the same without generators, and nothing is
 * compressed.
 *
 * @see https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 */
export function createGrpcFactory(options: UniversalHandlerOptions): ProtocolHandlerFactory {
  const full = grpc.createHandlerFactory(options);
  const factory = (spec: MethodImplSpec) => {
    const handler = full(spec);
    return spec.kind === 'unary' ? Object.assign(createUnary(spec, options), handler) : handler;
  };
  return Object.assign(factory, { protocolName: full.protocolName });
}

function createUnary(
  spec: Extract<MethodImplSpec, { kind: 'unary' }>,
  options: UniversalHandlerOptions,
): UniversalHandlerFn {
  const { binaryOptions, jsonOptions, maxTimeoutMs, readMaxBytes, interceptors } = options;
  const serialization = createMethodSerializationLookup(spec.method, binaryOptions, jsonOptions, options);
  return async (request) => {
    assertByteStreamRequest(request);
    const { header, body, method: requestMethod, url, signal: requestSignal } = request;
    const isBinary = grpc.parseContentType(header.get(grpc.headerContentType))?.binary ?? true;
    const timeout = grpc.parseTimeout(header.get(grpc.headerTimeout), maxTimeoutMs);
    const context = createHandlerContext({
      ...spec,
      service: spec.method.parent,
      requestMethod,
      protocolName: 'grpc',
      ...(timeout.timeoutMs !== undefined && { timeoutMs: timeout.timeoutMs }),
      requestSignal,
      requestHeader: header,
      url,
      responseHeader: { [grpc.headerContentType]: isBinary ? grpc.contentTypeProto : grpc.contentTypeJson },
      responseTrailer: { [grpc.headerGrpcStatus]: grpc.grpcStatusOk },
    });
    const { responseHeader, responseTrailer } = context;
    const answer = (messages: readonly Uint8Array[]) => ({
      ...uResponseOk,
      body: new Chunks(messages),
      header: responseHeader,
      trailer: responseTrailer,
    });
    try {
      await options.requestGate?.(context);
      const compression = compressionNegotiate(
        options.acceptCompression,
        header.get(grpc.headerEncoding),
        header.get(grpc.headerAcceptEncoding),
        grpc.headerAcceptEncoding,
      );
      if (compression.error) throw compression.error;
      if (timeout.error) throw timeout.error;
      const envelope = await readEnvelope(body, readMaxBytes);
      const { data } = await envelopeDecompress(envelope, compression.request, readMaxBytes);
      const message = serialization.getI(isBinary).parse(data);
      const output = await invokeUnaryImplementation(spec, context, message, interceptors);
      const bytes = encodeEnvelope(0, serialization.getO(isBinary).serialize(output));
      context.abort(answered);
      return answer([bytes]);
    } catch (caught) {
      correctBlame(caught);
      context.abort(caught);
      const error = caught instanceof ConnectError ? caught : new ConnectError('internal error', Code.Internal);
      grpc.setTrailerStatus(responseTrailer, error);
      return answer([]);
    }
  };
}

/**
 * The one message of a call; fails as the library does where there is none, or more than one, or one that is larger
 * than it may be. Reads no further than that shows.
 */
async function readEnvelope(body: AsyncIterable<Uint8Array>, mostBytes: number): Promise<EnvelopedMessage> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  let whole = Infinity;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (whole === Infinity && length >= prefixBytes) {
      const size = Buffer.concat(chunks).readUInt32BE(1);
      if (size > mostBytes)
        throw new ConnectError(`The message has ${size} bytes; at most ${mostBytes} are taken`, Code.ResourceExhausted);
      whole = prefixBytes + size;
    }
    if (length > whole) throw new ConnectError('The call takes one message, and more came', Code.Unimplemented);
  }
  if (length === 0) throw new ConnectError('The call takes one message, and none came', Code.Unimplemented);
  if (length < whole) throw new ConnectError('The message ends before its length', Code.InvalidArgument);
  const bytes = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
  return { flags: bytes[0] ?? 0, data: bytes.subarray(prefixBytes) };
}

/** Existing chunks as an asynchronous iterable. */
class Chunks implements AsyncIterable<Uint8Array>, AsyncIterator<Uint8Array, undefined> {
  readonly #chunks: Iterator<Uint8Array, undefined>;

  constructor(chunks: readonly Uint8Array[]) {
    this.#chunks = chunks.values();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Uint8Array, undefined>> {
    return Promise.resolve(this.#chunks.next());
  }
}
