import type { ServerResponse } from 'node:http';
import { Type } from 'typebox';
import { AppError } from '../../../commands/errors.ts';
import type { RestDependencies } from './dependencies.ts';
import { type App, errors } from '../../http/schema.ts';

const path = '/live';
const mostClients = 200;
const mostBufferedBytes = 256 * 1024;
const heartbeatMs = 15_000;
const reconnectMs = 3000;
/** Connections that one caller may open a minute. */
const mostPerMinute = 240;

const streamHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const;

/**
 * `GET /live`: facts as they are written, as server-sent events whose data are the events of the log.
 *
 * Nothing is kept for who comes late, and who reads too slowly is cut off: positions and replay are the log's matter.
 */
export function liveRoutes(app: App, { subscribe, signal }: Pick<RestDependencies, 'subscribe' | 'signal'>): void {
  const clients = createClients(subscribe);
  signal.addEventListener('abort', () => clients.end(), { once: true });
  app.addHook('preClose', async () => clients.end());
  const schema = {
    tags: ['Operations'],
    operationId: 'live',
    summary: 'Facts as they are written, as server-sent events',
    description:
      'Action, SuperNode and probe events, each with the JSON of its CloudEvent as data. From now on only; a slow reader is cut off.',
    response: {
      200: {
        description: 'Events until one side hangs up.',
        content: { 'text/event-stream': { schema: Type.String() } },
      },
      ...errors(429),
    },
  };
  const config = { lasts: true, rateLimit: { max: mostPerMinute, timeWindow: '1 minute' } };
  app.get(path, { schema, config }, (request, reply) => {
    if (request.method === 'HEAD') {
      reply.headers(streamHeaders).send();
      return;
    }
    if (signal.aborted || clients.size() >= mostClients)
      throw new AppError(
        'UNAVAILABLE',
        `As many live readers as this instance takes (${mostClients}) are here; try again later or subscribe to the log.`,
      );
    reply.hijack();
    for (const [name, value] of Object.entries({ ...reply.getHeaders(), ...streamHeaders }))
      if (value !== undefined) reply.raw.setHeader(name, value);
    reply.raw.flushHeaders();
    clients.add(reply.raw);
  });
}

function createClients(subscribe: RestDependencies['subscribe']) {
  const clients = new Set<ServerResponse>();
  let stop: (() => void) | undefined;
  const sendAll = (text: string): void => {
    for (const client of clients) {
      client.write(text);
      if (client.writableLength > mostBufferedBytes) client.destroy();
    }
  };
  const start = (): (() => void) => {
    const unsubscribe = subscribe((json, name) => {
      const line = `data: ${json.replaceAll(/[\r\n]+/g, ' ')}\n\n`;
      sendAll(name === undefined ? line : `event: ${name}\n${line}`);
    });
    const heartbeat = setInterval(() => sendAll(': still here\n\n'), heartbeatMs).unref();
    return () => {
      clearInterval(heartbeat);
      unsubscribe();
    };
  };
  const leave = (client: ServerResponse): void => {
    clients.delete(client);
    if (clients.size > 0) return;
    stop?.();
    stop = undefined;
  };
  return {
    size: () => clients.size,
    add(client: ServerResponse): void {
      client.on('close', () => leave(client)).on('error', () => leave(client));
      clients.add(client);
      stop ??= start();
      client.write(`retry: ${reconnectMs}\n\n`);
    },
    end(): void {
      for (const client of clients) client.end();
    },
  };
}
