import type { FastifyRequest } from 'fastify';
import { AppError } from '../../../kit/errors.ts';
import { countDown } from '../../../kit/wait.ts';
import { bodyOf } from '../errors.ts';
import type { App } from '../schema.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether bodies of the route take their time, and the route watches them itself. */
    slowBody?: boolean;
  }
}

/**
 * Ends requests whose body has not come within a time, with `REQUEST_TIMEOUT`, and connections whose request is
 * answered before its body has come: neither drips for ever.
 *
 * For servers that lift Node's own limit, because bodies of some routes take their time: those have the route option
 * `config.slowBody`, and watch the body themselves.
 */
export function limitBodies(app: App, withinMs: number): void {
  app.addHook('onRequest', async (request, reply) => {
    if (!hasBody(request) || isSlow(request)) return;
    const { raw } = request;
    const end = (): void => {
      if (raw.complete) return;
      if (!reply.raw.headersSent) raw.socket.write(tooSlow(withinMs));
      raw.socket.destroySoon();
    };
    const late = countDown(withinMs, end);
    for (const event of ['end', 'close']) raw.once(event, late.stop);
  });
  app.addHook('onSend', async (request, reply) => {
    if (hasBody(request) && !isSlow(request) && !request.raw.complete) reply.header('connection', 'close');
  });
}

function hasBody({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function isSlow({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.config.slowBody === true;
}

function tooSlow(withinMs: number): string {
  const message = `The body has not come within ${withinMs / 1000} seconds; try again`;
  const body = JSON.stringify(bodyOf(new AppError('REQUEST_TIMEOUT', message)));
  const type = 'Content-Type: application/json; charset=utf-8';
  return `HTTP/1.1 408 Request Timeout\r\n${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`;
}
