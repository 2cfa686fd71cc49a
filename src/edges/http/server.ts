import { lookup } from 'node:dns/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import rateLimit from '@fastify/rate-limit';
import fastify, { type ConnectionError, type FastifyInstance } from 'fastify';
import Schema from 'typebox/schema';
import { AppError } from '../../kit/errors.ts';
import type { Logger } from '../../kit/logger.ts';
import { isReleased, releaseStreams } from '../../kit/shims/http/released-connection.ts';
import { isTracing } from '../../kit/tracing/tracing.ts';
import { bodyOf, createErrorHandler, type RefusalPage, tooMany } from './errors.ts';
import { queryReader } from './parameters.ts';
import { answerUnknownPaths } from './paths.ts';
import { traceRequests } from './request-spans.ts';
import type { App, SchemaTypes } from './schema.ts';
import { cutStalledReaders } from './limits/stalled-readers.ts';

const droppedBodyBytes = 64 * 1024;
const headerBytes = 16 * 1024;
const urlCharacters = 8 * 1024;
const headersWithinMs = 10_000;
const requestWithinMs = 30_000;
const answerWithinMs = 20_000;
const idCharacters = 256;
const idleEachMs = 20;
const usualStallMs = 60_000;

/** Options of a server. */
export type ServerOptions = Readonly<{
  logger: Logger;
  /** Most bytes of a JSON body; without it no route reads a body, and one of any kind is dropped. */
  bodyBytes?: number;
  /** Addresses and subnets whose `X-Forwarded-For` is believed; for any other the connection's own address counts. */
  trustedProxies?: readonly string[];
  /** The document that lists the paths, as the start of a sentence. */
  guide?: string;
  /** The page that a browser gets where nothing lies. */
  refusalPage?: RefusalPage;
  /** A client that takes nothing of an answer for so long is cut off; a minute unless set. */
  stallMs?: number;
}>;

/**
 * A server without routes: its bounds, how it reads parameters, and one form for every error, whatever its origin.
 *
 * Answers are serialised as they are: the schema types a handler's result already.
 */
export function createServer(options: ServerOptions): App {
  const { logger, bodyBytes, trustedProxies = [], guide = '/openapi.json says', stallMs = usualStallMs } = options;
  const onError = createErrorHandler(logger, options);
  const app = fastify({
    bodyLimit: bodyBytes ?? droppedBodyBytes,
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    handlerTimeout: answerWithinMs,
    requestTimeout: requestWithinMs,
    http: { maxHeaderSize: headerBytes, headersTimeout: headersWithinMs },
    return503OnClosing: false,
    // A start on a busy machine may take long; what ends it is not the framework's clock.
    pluginTimeout: 0,
    routerOptions: { maxParamLength: idCharacters },
    frameworkErrors: onError,
    clientErrorHandler: answerUnreadable,
  }).withTypeProvider<SchemaTypes>();
  app.setErrorHandler(onError);
  app.setValidatorCompiler(({ schema, httpPart }) => readers[httpPart ?? '']?.(schema) ?? ((value) => ({ value })));
  app.setSerializerCompiler(() => (answer) => (typeof answer === 'string' ? answer : JSON.stringify(answer)));
  if (bodyBytes === undefined) readNoBodies(app);
  else readJson(app);
  if (isTracing()) traceRequests(app);
  releaseStreams(app.server);
  cutStalledReaders(app.server, stallMs);
  const waiting = waitingConnections(app);
  app.addHook('preClose', (done) => {
    endIdleConnections(app, waiting);
    done();
  });
  void app.register(rateLimit, { global: false, errorResponseBuilder: tooMany });
  answerUnknownPaths(app, guide);
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-content-type-options', 'nosniff');
    if (request.url.length > urlCharacters)
      throw new AppError('INVALID_ARGUMENT', `The address is too long; it may have ${urlCharacters} characters.`);
  });
  return app;
}

/**
 * Opens a server at one address, and returns it as a URL: for a name at the first that it has, as Node does. For
 * `localhost` Fastify would open a second server at the other one, without any of these bounds.
 */
export async function listenAt(
  app: Pick<FastifyInstance, 'listen'>,
  { host, port }: Readonly<{ host: string; port: number }>,
): Promise<string> {
  const { address } = await lookup(host);
  return await app.listen({ host: address, port });
}

/**
 * Ends connections that become idle while a server closes: Node ends only those that are idle when closing begins, and
 * one whose request is answered after that would hold the end until its client lets go of it. One that has sent no
 * whole request yet is not idle to Node either, and nobody ends it any more.
 */
function endIdleConnections({ server }: Pick<App, 'server'>, waiting: ReadonlySet<Socket>): void {
  const end = (): void => {
    server.closeIdleConnections();
    for (const socket of waiting) socket.destroy();
  };
  end();
  const timer = setInterval(end, idleEachMs);
  server.once('close', () => clearInterval(timer));
}

/** Connections that no request has come of since they were opened, or since the last one was answered. */
function waitingConnections({ server }: Pick<App, 'server'>): ReadonlySet<Socket> {
  const waiting = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    waiting.add(socket);
    socket.once('close', () => waiting.delete(socket));
  });
  server.on('request', (request: IncomingMessage, answer: ServerResponse) => {
    const { socket } = request;
    waiting.delete(socket);
    answer.once('close', () => {
      if (request.complete && !socket.destroyed && !isReleased(socket)) waiting.add(socket);
    });
  });
  return waiting;
}

/** The readers of those parts of a request that a route has a schema for; the others are not validated. */
const readers: Readonly<Record<string, typeof queryReader | undefined>> = {
  querystring: queryReader,
  body: bodyReader,
};

/** No route reads a body, so one of any kind may come, is bounded and dropped. */
export function readNoBodies(app: Pick<App, 'removeAllContentTypeParsers' | 'addContentTypeParser'>): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null));
}

/** Bodies are JSON; one that is announced and then empty counts as none, and the route names what is missing. */
function readJson(app: App): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body: string, done) => {
    if (body === '') done(null);
    else void parse(request, body, done);
  });
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

/**
 * A reader of a JSON body, made from the schema that also makes its types and its documentation.
 *
 * Strict: a body that does not fit is `INVALID_ARGUMENT`, naming the first field that does not. The schema holds no
 * references.
 */
function bodyReader(schema: unknown): (input: unknown) => { value: Record<string, unknown> } | { error: AppError } {
  const validator = Schema.Compile(schema as object);
  return (values) => {
    if (validator.Check(values)) return { value: values as Record<string, unknown> };
    const [, [problem]] = validator.Errors(values);
    const position = problem?.instancePath.replaceAll('/', '.').replace(/^\./, '') || 'the body';
    return {
      error: new AppError('INVALID_ARGUMENT', `${position} does not fit: it ${problem?.message ?? 'is wrong'}.`),
    };
  };
}
