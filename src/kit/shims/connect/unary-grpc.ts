/** @connectrpc/connect 2.2.0 leads each call through dozens of objects, most of which no call needs. */
import type { ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse, ServerHttp2Stream } from 'node:http2';
import { create } from '@bufbuild/protobuf';
import {
  Code,
  ConnectError,
  type ContextValues,
  createHandlerContext,
  type HandlerContext,
  type MethodImplSpec,
} from '@connectrpc/connect';
import {
  createMethodSerializationLookup,
  encodeEnvelope,
  envelopeDecompress,
  type EnvelopedMessage,
  type UniversalHandlerOptions,
} from '@connectrpc/connect/protocol';
import * as grpc from '@connectrpc/connect/protocol-grpc';
import { correctBlame } from './client-mistakes.ts';
import { startDeadline } from './deadline.ts';
import { plainTrailers } from './grpc-message.ts';

/** The implementation of a method that takes one message and answers with one. */
export type UnaryImplementation = Extract<MethodImplSpec, { kind: 'unary' }>;

/** What the short path asks about a call. */
export type PlainCall = Readonly<{
  /** The values of the call's context, where its method asks for that. */
  values: () => ContextValues;
  /** What the client is sent of a failure. */
  translate: (caught: unknown) => ConnectError;
}>;

/** Answers the request of a response, failures of the call too; fails where no answer can be written. */
export type AnswerUnary = (response: Http2ServerResponse, call: PlainCall) => Promise<void>;

const prefixBytes = 5;
const isProto = /^application\/grpc(\+proto)?$/;
const headersOfAnswer = { ':status': 200, 'content-type': grpc.contentTypeProto } as const;
const trailersOfSuccess = { 'grpc-status': grpc.grpcStatusOk } as const;
/** Why the signal of a call aborts once it was answered; one for all calls, as each new one records a stack. */
const answered = new DOMException('The call was answered', 'AbortError');

/** Whether a request is gRPC as most clients speak it: uncompressed protobuf over HTTP/2. */
export function isPlainGrpc(response: ServerResponse | Http2ServerResponse): response is Http2ServerResponse {
  if (!('stream' in response)) return false;
  const { method, headers } = response.req;
  const encoding = headers['grpc-encoding'] ?? 'identity';
  return method === 'POST' && encoding === 'identity' && isProto.test(headers['content-type'] ?? '');
}

/**
 * Answers plain gRPC calls of a method with one message in each direction, on a shorter path than the library's.
 *
 * The library makes a request and an answer of its own for each call, with their headers, signals and generators: a
 * third of the garbage of a call of GetStatus, and of its processor time. Collecting garbage is what one call in a
 * hundred waits for. Here its own parts read, decode and encode, and a method's context is made where it asks for it.
 *
 * @see https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 */
export function createUnaryGrpc(spec: UnaryImplementation, options: UniversalHandlerOptions): AnswerUnary {
  const { binaryOptions, jsonOptions, readMaxBytes, maxTimeoutMs } = options;
  const serialization = createMethodSerializationLookup(spec.method, binaryOptions, jsonOptions, options);
  const [input, output] = [serialization.getI(true), serialization.getO(true)];
  return async (response, { values, translate }) => {
    const { stream, req: request } = response;
    const { headers } = request;
    const { timeoutMs, error } = grpc.parseTimeout(String(headers['grpc-timeout'] ?? '') || null, maxTimeoutMs);
    let made: ReturnType<typeof createHandlerContext> | undefined;
    const context = madeOnDemand(() => (made = contextOf(spec, request, { values: values(), timeoutMs })));
    const answer = async (): Promise<Uint8Array> => {
      if (error) throw error;
      const { data } = await envelopeDecompress(await readEnvelope(stream, readMaxBytes), null, readMaxBytes);
      const result = await spec.impl(input.parse(data), context);
      return encodeEnvelope(0, output.serialize(create(spec.method.output, result)));
    };
    const reply = (trailers: Readonly<Record<string, string>>, bytes?: Uint8Array): void => {
      if (stream.closed || stream.destroyed) return;
      response.addTrailers({ ...fieldsOf(made?.responseTrailer), ...trailers });
      stream.respond({ ...headersOfAnswer, ...fieldsOf(made?.responseHeader) }, { waitForTrailers: true });
      stream.end(bytes);
    };
    try {
      reply(trailersOfSuccess, await inTime(answer, timeoutMs));
      made?.abort(answered);
    } catch (caught) {
      correctBlame(caught);
      made?.abort(caught);
      reply(plainTrailers(grpc.setTrailerStatus(new Headers(), translate(caught))));
    }
  };
}

/** An object that is made once it is asked for anything. */
function madeOnDemand<T extends object>(make: () => T): T {
  let made: T | undefined;
  return new Proxy({} as T, { get: (_, key) => Reflect.get((made ??= make()), key) as unknown });
}

function contextOf(
  spec: UnaryImplementation,
  { headers, authority, url, stream }: Http2ServerRequest,
  { values, timeoutMs }: Readonly<{ values: ContextValues; timeoutMs: number | undefined }>,
): ReturnType<typeof createHandlerContext> {
  const gone = new AbortController();
  stream.once('close', () => gone.abort(answered));
  return createHandlerContext({
    ...spec,
    service: spec.method.parent,
    requestMethod: 'POST',
    protocolName: 'grpc',
    ...(timeoutMs !== undefined && { timeoutMs }),
    requestSignal: gone.signal,
    requestHeader: Object.entries(headers).flatMap(([name, value]) =>
      name.startsWith(':') ? [] : [value ?? []].flat().map((one): [string, string] => [name, one]),
    ),
    url: new URL(url, `${stream.session?.encrypted === true ? 'https' : 'http'}://${authority}`).href,
    contextValues: values,
  });
}

const fieldsOf = (headers: HandlerContext['responseHeader'] | undefined): Record<string, string> =>
  headers ? Object.fromEntries(headers) : {};

/** Fails with DEADLINE_EXCEEDED after so many milliseconds, where that is set; a later result is dropped. */
async function inTime<T>(work: () => Promise<T>, limitMs: number | undefined): Promise<T> {
  if (limitMs === undefined) return await work();
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = startDeadline(limitMs, reject);
  return await Promise.race([work(), late]).finally(() => clearTimeout(timer));
}

/**
 * The one message of a call; fails as the library does where there is none, or more than one, or one that is larger
 * than it may be. What comes after a failure is dropped.
 */
async function readEnvelope(stream: ServerHttp2Stream, mostBytes: number): Promise<EnvelopedMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<EnvelopedMessage>();
  let [chunks, length, whole, isOver]: [Uint8Array[], number, number, boolean] = [[], 0, Infinity, false];
  const fail = (message: string, code: Code): void => {
    [chunks, isOver] = [[], true];
    reject(new ConnectError(message, code));
  };
  stream.on('data', (chunk: Buffer) => {
    if (isOver) return;
    chunks.push(chunk);
    length += chunk.length;
    if (whole === Infinity && length >= prefixBytes) {
      const size = Buffer.concat(chunks).readUInt32BE(1);
      whole = prefixBytes + size;
      if (size > mostBytes)
        return fail(`The message has ${size} bytes; at most ${mostBytes} are taken`, Code.ResourceExhausted);
    }
    if (length > whole) fail('The call takes one message, and more came', Code.Unimplemented);
  });
  stream.once('end', () => {
    if (isOver) return;
    if (length === 0) return fail('The call takes one message, and none came', Code.Unimplemented);
    if (length < whole) return fail('The message ends before its length', Code.InvalidArgument);
    isOver = true;
    const bytes = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
    resolve({ flags: bytes[0] ?? 0, data: bytes.subarray(prefixBytes) });
  });
  stream.once('close', () => {
    if (!isOver) fail('The client has gone', Code.Canceled);
  });
  return await promise;
}
