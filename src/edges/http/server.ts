import type { Socket } from 'node:net';
import rateLimit from '@fastify/rate-limit';
import fastify, { type ConnectionError } from 'fastify';
import { AppError } from '../../commands/errors.ts';
import type { Logger } from '../kit/logger.ts';
import { bodyOf, createErrorHandler, tooMany } from './errors.ts';
import { queryReader } from './parameters.ts';
import { answerUnknownPaths } from './paths.ts';
import type { App, SchemaTypes } from './schema.ts';

const bodyBytes = 64 * 1024;
const headerBytes = 16 * 1024;
const urlCharacters = 8 * 1024;
const headersWithinMs = 10_000;
const requestWithinMs = 30_000;
const answerWithinMs = 20_000;
const idCharacters = 256;

/**
 * A server without routes: its bounds, how it reads parameters, and one form for every error, whoever finds it.
 *
 * Answers are serialised as they are: what a handler gives back is typed by its schema already.
 */
export function createServer(logger: Logger): App {
  const onError = createErrorHandler(logger);
  const app = fastify({
    bodyLimit: bodyBytes,
    handlerTimeout: answerWithinMs,
    requestTimeout: requestWithinMs,
    http: { maxHeaderSize: headerBytes, headersTimeout: headersWithinMs },
    return503OnClosing: false,
    routerOptions: { maxParamLength: idCharacters },
    frameworkErrors: onError,
    clientErrorHandler: answerUnreadable,
  }).withTypeProvider<SchemaTypes>();
  app.setErrorHandler(onError);
  app.setValidatorCompiler(({ schema, httpPart }) =>
    httpPart === 'querystring' ? queryReader(schema) : (value: unknown) => ({ value }),
  );
  app.setSerializerCompiler(() => (answer) => (typeof answer === 'string' ? answer : JSON.stringify(answer)));
  readNoBodies(app);
  void app.register(rateLimit, { global: false, errorResponseBuilder: tooMany });
  answerUnknownPaths(app);
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-content-type-options', 'nosniff');
    if (request.url.length > urlCharacters)
      throw new AppError('INVALID_ARGUMENT', `The address is too long; it may have ${urlCharacters} characters.`);
  });
  return app;
}

/** No route reads a body, so one of any kind may come, is bounded and dropped. */
function readNoBodies(app: App): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null));
}

/** Answers what is no HTTP request, or takes too long to become one. */
function answerUnreadable(error: ConnectionError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  const status = unreadable[error.code] ?? '400 Bad Request';
  const body = JSON.stringify(
    bodyOf(new AppError('INVALID_ARGUMENT', `The request cannot be read: ${status.slice(4)}.`)),
  );
  const head = `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n`;
  if (socket.writable) socket.write(head + body);
  socket.destroy(error);
}

const unreadable: Readonly<Record<string, string | undefined>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};
