import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../kit/errors.ts';
import { callerOf } from '../../kit/net-address.ts';
import { startStream } from '../../kit/shims/http/released-connection.ts';
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

/** One reader's stream, over once either side has ended it; small, since there are many idle ones. */
export type SseClient = Readonly<{
  isOver: boolean;
  /** Calls back once the stream is over: at once where it is over already. */
  onOver: (call: () => void) => void;
  send: (event: SseEvent) => void;
  /** Sends a comment, which no reader takes for an event, but a person who reads the bytes sees. */
  comment: (text: string) => void;
  /** Settles once the reader has received most of what was sent; one that takes too long is cut off. */
  drained: () => Promise<void>;
  end: () => void;
}>;

/** What a stream is written to. */
type Outlet = ServerResponse | Socket;

/** The streams of one route. */
export type SseStreams = Readonly<{
  /**
   * Starts a stream; undefined for a HEAD, which is answered, and for a reader that has left by now. Fails with
   * `UNAVAILABLE` where there are too many.
   */
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
  const clients = new Map<Outlet, Client>();
  let heartbeat: NodeJS.Timeout | undefined;
  const sendAll = (text: string): void => clients.forEach((client) => client.write(text));
  const end = (): void => clients.forEach((client) => client.end());
  signal.addEventListener('abort', end, { once: true });
  app.addHook('preClose', async () => end());
  /** One for all streams, which are its `this`. */
  function leave(this: Outlet): void {
    const client = clients.get(this);
    clients.delete(this);
    if (clients.size === 0) {
      clearInterval(heartbeat);
      heartbeat = undefined;
    }
    client?.leave();
  }
  const add = (client: Client, outlet: Outlet): void => {
    outlet.on('close', leave).on('error', leave);
    clients.set(outlet, client);
    heartbeat ??= setInterval(() => sendAll(': still here\n\n'), heartbeatMs).unref();
  };
  return {
    sendAll: (event) => sendAll(textOf(event)),
    open: (request, reply) => {
      const all = { ...headers, ...reply.getHeaders() };
      if (request.method === 'HEAD') return void reply.headers(all).send();
      const caller = callerOf(request.ip);
      refuseTooMany([...clients.values()], caller, options);
      reply.hijack();
      if (reply.raw.destroyed) return undefined;
      const set = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
      const outlet = startStream(reply.raw, reply.statusCode, set);
      const client = new Client(outlet, caller, mostBufferedBytes);
      add(client, outlet);
      client.write(`retry: ${reconnectMs}\n\n`);
      return client;
    },
  };
}

class Client implements SseClient {
  readonly caller: string;
  readonly #outlet: Outlet;
  readonly #mostBufferedBytes: number;
  #onOver: (() => void)[] | undefined;
  isOver = false;

  constructor(outlet: Outlet, caller: string, mostBufferedBytes: number) {
    this.#outlet = outlet;
    this.caller = caller;
    this.#mostBufferedBytes = mostBufferedBytes;
  }

  onOver(call: () => void): void {
    if (this.isOver) call();
    else (this.#onOver ??= []).push(call);
  }

  leave(): void {
    this.isOver = true;
    const calls = this.#onOver;
    this.#onOver = undefined;
    calls?.forEach((call) => call());
  }

  write(text: string): void {
    this.#outlet.write(text);
    if (this.#outlet.writableLength > this.#mostBufferedBytes) this.#outlet.destroy();
  }

  send(event: SseEvent): void {
    this.write(textOf(event));
  }

  comment(text: string): void {
    this.write(`: ${text.replaceAll(/[\r\n]+/g, ' ')}\n\n`);
  }

  async drained(): Promise<void> {
    const outlet = this.#outlet;
    if (!outlet.writableNeedDrain || this.isOver) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const late = countDown(drainedWithinMs, () => outlet.destroy());
    outlet.once('drain', resolve).once('close', resolve);
    await promise;
    late.stop();
    outlet.off('drain', resolve).off('close', resolve);
  }

  end(): void {
    this.#outlet.end();
  }
}

function refuseTooMany(
  clients: readonly Pick<Client, 'caller'>[],
  caller: string,
  { signal, mostClients = 200, mostPerAddress = mostClients, remedy = 'try again later' }: SseOptions,
): void {
  if (signal.aborted || clients.length >= mostClients)
    throw new AppError(
      'UNAVAILABLE',
      `As many live readers as this instance takes (${mostClients}) are here; ${remedy}.`,
    );
  if (clients.filter((one) => one.caller === caller).length >= mostPerAddress)
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
