import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { SpanAttributes, OpenSpan, SpanOptions } from '../../kit/tracing/spans.ts';
import { isTracing, openSpan, span } from '../../kit/tracing/tracing.ts';
import { operationTag } from './operations/operation-schemas.ts';

const firstServerError = 500;

/**
 * A span of kind server for each request of an app, below the caller's where that sends `traceparent`; none for the
 * routes of operations, which are called all the time.
 *
 * Spans name the route and never the path: a path may hold the id of a task, which guards a private file.
 */
export function traceRequests(app: FastifyInstance): void {
  const spans = new WeakMap<FastifyRequest, OpenSpan>();
  app.addHook('onRequest', (request, reply, done) => {
    const { url: route, schema } = request.routeOptions;
    if (schema?.tags?.includes(operationTag.name) === true) return done();
    const opened = openSpan(nameOf(request.method, route), serverOptions(request.raw, route));
    spans.set(request, opened);
    reply.raw.once('close', () => {
      opened.set({ 'annals.position': positionOf(reply.getHeader('annals-position')) });
      endWith(opened, reply.statusCode);
    });
    opened.within(done);
  });
  // A body is read by events of its connection: what comes after it would run outside the span.
  app.addHook('preValidation', (request, _reply, done) => {
    const opened = spans.get(request);
    if (opened) opened.within(done);
    else done();
  });
}

/** The same around an answer of a server that has no routes; the answer may name its own by `annotate`. */
export async function traceAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  answer: () => Promise<void>,
): Promise<void> {
  if (!isTracing()) return await answer();
  const { method = 'none' } = request;
  await span(method, serverOptions(request), async (opened) => {
    await answer();
    markStatus(opened, response.statusCode);
  });
}

/** The attributes and the name of a request, once its route is known. */
export function routeNamed(method: string | undefined, route: string): [SpanAttributes, string] {
  return [{ 'http.route': route }, nameOf(method ?? 'none', route)];
}

const nameOf = (method: string, route: string | undefined): string =>
  route === undefined ? method : `${method} ${route}`;

function serverOptions({ method, headers, httpVersion }: IncomingMessage, route?: string): SpanOptions {
  const { traceparent } = headers;
  return {
    kind: 'server',
    parents: typeof traceparent === 'string' ? [traceparent] : [],
    attributes: { 'http.request.method': method, 'http.route': route, 'network.protocol.version': httpVersion },
  };
}

function positionOf(header: unknown): string | undefined {
  return typeof header === 'string' ? header : undefined;
}

function endWith(opened: OpenSpan, status: number): void {
  markStatus(opened, status);
  opened.end();
}

function markStatus(opened: OpenSpan, status: number): void {
  opened.set({ 'http.response.status_code': status });
  if (status >= firstServerError) opened.fail(String(status));
}
