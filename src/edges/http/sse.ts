import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../kit/errors.ts';
import { callerOf } from '../../kit/net-address.ts';
import { countDown } from '../../kit/wait.ts';
import type { App } from './schema.ts';

/**
 * A server-sent event; a returning reader sends `id` as the last it has seen, and browsers dispatch it as the type
 * `name`.
 */
export type SseEvent = Readonly<{ data: string; id?: number; name?: string }>;

/** What bounds the streams of one route. */
export type SseOptions = Readonly<{
  /** Ends all of them. */
  signal: AbortSignal;
  mostClients?: number;
  /** Of one address, of IPv6 of its first 64 bits; without it as many as there may be at all. */
  mostPerAddress?: number;
  /** Time between two comments that keep a stream open, in milliseconds. */
  heartbeatMs?: number;
  /** Bytes that may wait for one reader before it is cut off; of routes whose events are large. */
  mostBufferedBytes?: number;
  /** The remedy for a caller where there are too many streams, as the end of a sentence. */
  remedy?: string;
}>;

/** One reader's stream; `signal` aborts once it is over, whichever side ended it. */
export type SseClient = Readonly<{
  signal: AbortSignal;
  send: (event: SseEvent) => void;
  /** Sends a comment, which no reader takes for an event, but a person who reads the bytes sees. */
  comment: (text: string) => void;
  /** Settles once the reader has received most of what was sent; one that takes too long is cut off. */
  drained: () => Promise<void>;
  end: () => void;
}>;

/** The streams of one route. */
export type SseStreams = Readonly<{
  /** Starts a stream; undefined for a HEAD, which is answered. Fails with `UNAVAILABLE` where there are too many. */
  open: (request: FastifyRequest, reply: FastifyReply) => SseClient | undefined;
  sendAll: (event: SseEvent) => void;
}>;

const usualBufferedBytes = 256 * 1024;
const usualHeartbeatMs = 15_000;
const drainedWithinMs = 30_000;
const reconnectMs = 3000;
const headers = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const;

/**
 * Makes the streams of one route: each starts with the time to wait before coming back, has heartbeats, and is cut off
 * when its reader is too slow.
 */
export function createStreams(app: Pick<App, 'addHook'>, options: SseOptions): SseStreams {
  const { signal, heartbeatMs = usualHeartbeatMs, mostBufferedBytes = usualBufferedBytes } = options;
  const clients = new Map<ServerResponse, string>();
  let heartbeat: NodeJS.Timeout | undefined;
  const write = (client: ServerResponse, text: string): void => {
    client.write(text);
    if (client.writableLength > mostBufferedBytes) client.destroy();
  };
  const sendAll = (text: string): void => clients.forEach((_, client) => write(client, text));
  const end = (): void => clients.forEach((_, client) => client.end());
  signal.addEventListener('abort', end, { once: true });
  app.addHook('preClose', async () => end());
  const add = (client: ServerResponse, caller: string): AbortSignal => {
    const over = new AbortController();
    const leave = (): void => {
      clients.delete(client);
      if (clients.size === 0) {
        clearInterval(heartbeat);
        heartbeat = undefined;
      }
      over.abort();
    };
    client.on('close', leave).on('error', leave);
    clients.set(client, caller);
    heartbeat ??= setInterval(() => sendAll(': still here\n\n'), heartbeatMs).unref();
    return over.signal;
  };
  return {
    sendAll: (event) => sendAll(textOf(event)),
    open: (request, reply) => {
      if (request.method === 'HEAD') return void reply.headers({ ...headers, ...reply.getHeaders() }).send();
      const caller = callerOf(request.ip);
      refuseTooMany([...clients.values()], caller, options);
      reply.hijack();
      const client = reply.raw;
      for (const [name, value] of Object.entries({ ...headers, ...reply.getHeaders() }))
        if (value !== undefined) client.setHeader(name, value);
      client.flushHeaders();
      const over = add(client, caller);
      client.write(`retry: ${reconnectMs}\n\n`);
      return {
        signal: over,
        send: (event) => write(client, textOf(event)),
        comment: (text) => write(client, `: ${text.replaceAll(/[\r\n]+/g, ' ')}\n\n`),
        drained: () => drained(client, over),
        end: () => void client.end(),
      };
    },
  };
}

function refuseTooMany(
  callers: readonly string[],
  caller: string,
  { signal, mostClients = 200, mostPerAddress = mostClients, remedy = 'try again later' }: SseOptions,
): void {
  if (signal.aborted || callers.length >= mostClients)
    throw new AppError(
      'UNAVAILABLE',
      `As many live readers as this instance takes (${mostClients}) are here; ${remedy}.`,
    );
  if (callers.filter((one) => one === caller).length >= mostPerAddress)
    throw new AppError(
      'UNAVAILABLE',
      `As many live readers as one address may have (${mostPerAddress}) are here; ${remedy}.`,
    );
}

function textOf({ data, id, name }: SseEvent): string {
  const lines = [
    ...(id === undefined ? [] : [`id: ${id}`]),
    ...(name === undefined ? [] : [`event: ${name}`]),
    `data: ${data.replaceAll(/[\r\n]+/g, ' ')}`,
  ];
  return `${lines.join('\n')}\n\n`;
}

async function drained(client: ServerResponse, over: AbortSignal): Promise<void> {
  if (!client.writableNeedDrain || over.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const late = countDown(drainedWithinMs, () => client.destroy());
  client.once('drain', resolve);
  over.addEventListener('abort', () => resolve(), { once: true });
  await promise;
  late.stop();
  client.off('drain', resolve);
}
