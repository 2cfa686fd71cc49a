import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { Code, ConnectError, type ConnectRouter, type ContextValues, type Interceptor } from '@connectrpc/connect';
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from '@connectrpc/connect-node';
import { toAppError } from '../../kit/errors.ts';
import type { Logger } from '../../kit/logger.ts';
import { withDeadline } from './body-deadline.ts';
import { blameClient, correctBlame, isConnectionGone } from '../../kit/shims/connect/client-mistakes.ts';
import { type BodyPace, withPace } from './body-pace.ts';
import { markFailure, traceCall } from './call-spans.ts';
import { callerValues, isCallClosed } from './callers.ts';
import { acceptLongFields } from './long-fields.ts';
import { isOurFault, toRpcError } from './codes.ts';
import { grpcMessageOf, withPlainMessage } from '../../kit/shims/connect/grpc-message.ts';
import { createRouter } from '../../kit/shims/connect/router.ts';

/** Requests of HTTP/1.1 and of HTTP/2 alike. */
export type RpcHandler = (
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
) => void;

/** The limit in bytes of a call that is no stream; services that accept more set theirs where they are registered. */
const unaryBytes = 64 * 1024;

/**
 * Serves the routes over gRPC, gRPC-Web and Connect; every error in its protocol's form, faults of ours logged.
 *
 * Nothing is compressed, and a compressed request is UNIMPLEMENTED. A path without a method is UNIMPLEMENTED to a gRPC
 * client and 404 to others.
 */
export function createRpcHandler(
  routes: (router: ConnectRouter) => void,
  logger: Logger,
  { pace }: Readonly<{ pace?: BodyPace }> = {},
): RpcHandler {
  const translate = translating(logger);
  const { router, plainCall } = createRouter({
    acceptCompression: [],
    readMaxBytes: unaryBytes,
    requestGate: blameClient,
    interceptors: [translateErrors(translate)],
  });
  routes(router);
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
  const serve: Serve = async (request, response) => {
    const handler = handlers.get(request.url?.split('?', 1)[0] ?? '');
    if (!handler) return answerUnknown(request, response);
    const answerPlain = plainCall(response, handler.requestPath);
    await traceCall(handler, request, response, async () => {
      if (answerPlain) {
        const values = (): ContextValues => callerValues(request);
        const call = { name: handler.method.name, isGone: () => isCallClosed(values()) };
        return await answerPlain({ values, translate: (caught) => translate(caught, call) });
      }
      const read = withPace(readRequest(request, response), handler.requestPath, pace);
      const isStream = handler.method.methodKind !== 'unary';
      const withFields = isStream ? acceptLongFields(read.contextValues) : undefined;
      const answer = withPlainMessage(await handler(read));
      await universalResponseToNodeResponse(withFields?.(answer) ?? answer, response);
    });
  };
  return (request, response) => {
    serve(request, response).catch((caught: unknown) => {
      if (caught instanceof Unreadable) return answerUnreadable(response);
      if (isOurFault(caught) && !isConnectionGone(caught))
        logger.warn({ err: toAppError(caught), path: request.url }, 'call could not be answered');
      response.destroy();
    });
  };
}

type Serve = (...parameters: Parameters<RpcHandler>) => Promise<void>;

class Unreadable extends Error {}

/** The request's body is read as it is; the library would put another generator around it for each call. */
function readRequest(
  ...[request, response]: Parameters<RpcHandler>
): ReturnType<typeof universalRequestFromNodeRequest> {
  try {
    return withDeadline(universalRequestFromNodeRequest(request, response, request as never, callerValues(request)));
  } catch (caught) {
    throw new Unreadable('The host or the path of the request is none', { cause: caught });
  }
}

type Translate = (
  caught: unknown,
  call: Readonly<{ name: string; /** Whether nobody receives an answer. */ isGone: () => boolean }>,
) => ConnectError;

/** What a call's client is told of a failure; faults of ours are logged. */
function translating(logger: Logger): Translate {
  return (caught, { name, isGone }) => {
    correctBlame(caught);
    if (isGone() && isConnectionGone(caught)) return new ConnectError('The client has gone', Code.Canceled);
    markFailure(caught);
    if (isOurFault(caught)) logger.error({ err: toAppError(caught), method: name }, 'call failed');
    return toRpcError(caught);
  };
}

function translateErrors(translate: Translate): Interceptor {
  return (next) => async (request) => {
    const { method, signal, contextValues } = request;
    const isGone = (): boolean => signal.aborted || isCallClosed(contextValues);
    const translated = (caught: unknown): ConnectError => translate(caught, { name: method.name, isGone });
    try {
      const response = await next(request);
      return response.stream ? { ...response, message: translateStream(response.message, translated) } : response;
    } catch (caught) {
      throw translated(caught);
    }
  };
}

async function* translateStream<T>(
  messages: AsyncIterable<T>,
  translate: (caught: unknown) => ConnectError,
): AsyncGenerator<T> {
  try {
    yield* messages;
  } catch (caught) {
    throw translate(caught);
  }
}

function answerUnknown(
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
): void {
  request.resume();
  const message = 'Nothing is served at this path; reflection and /api/v1/services list what is.';
  const type = request.headers['content-type'] ?? '';
  if (/^application\/grpc(\+|;|$)/.test(type)) {
    send(response, 200, {
      'content-type': type,
      'grpc-status': String(Code.Unimplemented),
      'grpc-message': grpcMessageOf(message),
    });
  } else
    send(response, 404, { 'content-type': 'application/json' }, JSON.stringify({ code: 'unimplemented', message }));
}

function answerUnreadable(response: ServerResponse | Http2ServerResponse): void {
  const body = JSON.stringify({
    code: 'invalid_argument',
    message: 'The host or the path of the request cannot be read.',
  });
  send(response, 400, { 'content-type': 'application/json' }, body);
}

/**
 * Headers go out with the end: gRPC takes an answer without a message for one only so. The two kinds of response share
 * no type.
 */
function send(
  response: ServerResponse | Http2ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body?: string,
): void {
  const either = response as ServerResponse;
  either.statusCode = status;
  for (const [name, value] of Object.entries(headers)) either.setHeader(name, value);
  either.end(body);
}
