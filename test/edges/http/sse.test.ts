import { get, IncomingMessage } from 'node:http';
import { once } from 'node:events';
import type { FastifyRequest } from 'fastify';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createApp } from '../../../src/edges/http/app.ts';
import { createStreams, type SseClient, type SseOptions } from '../../../src/edges/http/sse.ts';
import { lastEventId, type PlacedEvent, type ResumableFeed, showFeed } from '../../../src/edges/http/sse-resume.ts';
import { connectNats } from '../../../src/engine/log/connection.ts';
import { createLog, type Log } from '../../../src/engine/log/log.ts';
import { ensureStreams } from '../../../src/engine/log/streams.ts';
import { freshNetwork, testNats } from '../../support/programs/servers.ts';

/** What every reader here accepts, as a browser's EventSource does. */
const accept = 'text/event-stream';
const closing: (() => Promise<unknown> | void)[] = [];
let log: Log;

beforeEach(async () => {
  const network = freshNetwork();
  const nc = await connectNats({ ...testNats(), name: 'sse test' });
  await ensureStreams(nc, network);
  log = createLog(nc, network);
  closing.push(async () => await nc.close());
});
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** The requests of one source, as a feed of what happened. */
function feedOf(of: Log): ResumableFeed {
  return {
    async *history(after) {
      for await (const facts of of.history('sync', 'supernodes', after))
        for (const { fact, sequence } of facts) {
          const data = fact.type === 'SyncRequested' ? fact.data.at : fact.type;
          yield { id: sequence, data, ...(data.startsWith('2099') && { endsAs: 'end' }) };
        }
    },
    watch: (onMore) => of.watch(['sync'], onMore),
    pollMs: 100,
  };
}

/** A replica that shows a feed. */
async function replica(feed: ResumableFeed, options: Partial<SseOptions> = {}): Promise<string> {
  const ending = new AbortController();
  const app = createApp({
    logger: pino({ level: 'silent' }),
    network: 'test',
    description: { title: '', version: '', description: '' },
    observed: () => ({ checks: [], gauges: [] }),
    routes: (routes) => {
      const streams = createStreams(routes, { signal: ending.signal, mostClients: 2, ...options });
      routes.get('/feed', { config: { lasts: true } }, (request, reply) => {
        const after = lastEventId(request);
        const client = streams.open(request, reply);
        if (client) showFeed(client, feed, after);
      });
    },
  });
  closing.push(async () => {
    ending.abort();
    await app.close();
  });
  return await app.listen({ host: '127.0.0.1', port: 0 });
}

const at = (second: number): string => new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString();

async function write(...times: readonly string[]): Promise<void> {
  for (const time of times) {
    const expected = (await log.last('sync', ['supernodes'])).get('supernodes')?.sequence ?? 0;
    const known = { chainId: 'chain-1', cursor: 0, unread: [] };
    const fact = { type: 'SyncRequested', data: { source: 'supernodes', at: time, known } } as const;
    await log.append([{ kind: 'sync', entity: 'supernodes', facts: [fact], expected }], { at: time });
  }
}

/** Opens a feed; `take` gives its next events as [id, data], fewer where it ends. */
async function open(base: string, lastId?: number) {
  const headers = { accept, ...(lastId !== undefined && { 'last-event-id': String(lastId) }) };
  const request = get(`${base}/feed`, { agent: false, headers });
  const [response] = await once(request, 'response');
  if (!(response instanceof IncomingMessage)) throw new Error('No answer');
  const events = eventsIn(response);
  return {
    take: async (count: number) => {
      const taken: (readonly [number, string])[] = [];
      while (taken.length < count) {
        const { value, done } = await events.next();
        if (done) break;
        taken.push(value);
      }
      return taken;
    },
    leave: () => void request.destroy(),
  };
}

async function* eventsIn(response: IncomingMessage): AsyncGenerator<readonly [number, string], undefined> {
  let text = '';
  for await (const piece of response.setEncoding('utf8')) {
    text += String(piece);
    const whole = text.split('\n\n');
    text = whole.pop() ?? '';
    for (const event of whole) {
      const [, id, data] = /^id: (\d+)\ndata: (.*)$/.exec(event) ?? [];
      if (id !== undefined && data !== undefined) yield [Number(id), data];
    }
  }
  return undefined;
}

describe('showFeed', () => {
  it('shows what has happened and then what happens, and a reader that comes back to another replica misses and repeats nothing', async () => {
    const [one, other] = await Promise.all([replica(feedOf(log)), replica(feedOf(log))]);
    await write(at(1), at(2));
    const first = await open(one);
    expect((await first.take(2)).map(([, data]) => data)).toEqual([at(1), at(2)]);
    await write(at(3));
    const [[seen, data] = [0, '']] = await first.take(1);
    expect(data).toBe(at(3));
    first.leave();
    await write(at(4), at(5));
    const again = await open(other, seen);
    expect((await again.take(2)).map(([, one_]) => one_)).toEqual([at(4), at(5)]);
    await write(at(6));
    expect((await again.take(1)).map(([, one_]) => one_)).toEqual([at(6)]);
  });

  it('ends after the last event, and at once for who has seen it', async () => {
    const base = await replica(feedOf(log));
    await write(at(1), '2099-01-01T00:00:00.000Z');
    const { take } = await open(base);
    expect((await take(9)).map(([, data]) => data)).toEqual([at(1), '2099-01-01T00:00:00.000Z']);
  });

  it('loses nothing where every hint is lost', async () => {
    const base = await replica({ ...feedOf(log), watch: () => () => undefined });
    const { take } = await open(base);
    await write(at(1));
    expect((await take(1)).map(([, data]) => data)).toEqual([at(1)]);
  });

  it('refuses a place that no stream has given out', async () => {
    const base = await replica(feedOf(log));
    const response = await fetch(`${base}/feed`, { headers: { accept, 'last-event-id': 'x' } });
    expect([response.status, await response.json()]).toMatchObject([400, { code: 'INVALID_ARGUMENT' }]);
  });

  it('reads a long history no faster than its reader does, and holds little of it', async () => {
    let given = 0;
    const data = 'x'.repeat(10_000);
    const endless: ResumableFeed = {
      async *history(after): AsyncGenerator<PlacedEvent> {
        for (let id = after + 1; ; id += 1) {
          given = id;
          yield { id, data };
        }
      },
      watch: () => () => undefined,
    };
    const base = await replica(endless);
    const { take, leave } = await open(base);
    expect((await take(50)).map(([id]) => id)).toEqual(Array.from({ length: 50 }, (_, index) => index + 1));
    // Whatever the sockets between hold, it is a small part of what an endless history would have given by now.
    expect(given).toBeLessThan(2000);
    leave();
  });

  it('keeps a stream open by comments while nothing is sent', { tags: ['S3.stream.heartbeat'] }, async () => {
    const base = await replica(feedOf(log), { heartbeatMs: 20 });
    const request = get(`${base}/feed`, { agent: false, headers: { accept } });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    let text = '';
    for await (const piece of response.setEncoding('utf8')) {
      text += String(piece);
      if (text.split(': still here\n\n').length > 3) break;
    }
    expect(text).toMatch(/^retry: 3000\n\n(: still here\n\n){3}/);
  });
});

/** A route of streams that nobody writes to but the test; `follow` gives a reader's answer. */
async function streaming(
  options: Partial<SseOptions> = {},
  stallMs?: number,
  before: (request: FastifyRequest) => unknown = () => undefined,
) {
  const ending = new AbortController();
  const clients: (SseClient | undefined)[] = [];
  const app = createApp({
    logger: pino({ level: 'silent' }),
    network: 'test',
    description: { title: '', version: '', description: '' },
    observed: () => ({ checks: [], gauges: [] }),
    ...(stallMs !== undefined && { stallMs }),
    routes: (routes) => {
      const streams = createStreams(routes, { signal: ending.signal, ...options });
      routes.get('/stream', { config: { lasts: true } }, async (request, reply) => {
        await before(request);
        clients.push(streams.open(request, reply));
        return await reply;
      });
    },
  });
  closing.push(async () => {
    ending.abort();
    await app.close();
  });
  const base = await app.listen({ host: '127.0.0.1', port: 0 });
  const follow = async (): Promise<IncomingMessage> => {
    const [answer] = await once(get(`${base}/stream`, { agent: false, headers: { accept } }), 'response');
    if (!(answer instanceof IncomingMessage)) throw new Error('No answer');
    return answer.on('error', () => undefined);
  };
  return { base, clients, follow };
}

describe('createStreams', () => {
  it('does not count a reader that left before its stream started', async () => {
    let held: Promise<unknown> | undefined;
    const { base, clients, follow } = await streaming({ mostClients: 1 }, undefined, async ({ raw }) => {
      held ??= once(raw.socket, 'close');
      await held;
    });
    const leaving = get(`${base}/stream`, { agent: false, headers: { accept } }).on('error', () => undefined);
    await expect.poll(() => held).toBeDefined();
    leaving.destroy();
    await expect.poll(() => clients).toEqual([undefined]);
    expect((await follow()).statusCode).toBe(200);
  });

  it('cuts a reader that leaves too much unread, and no other', { tags: ['S3.stream.slow'] }, async () => {
    const data = 'x'.repeat(16_000);
    const { follow, clients } = await streaming();
    const stalled = await follow();
    const reader = await follow();
    let read = 0;
    reader.on('data', (piece: Buffer) => (read += piece.length));
    const [first, other] = clients;
    if (!first || !other) throw new Error('Two streams were opened');
    let given = 0;
    while (!first.isOver && given < 4_000) {
      given += 1;
      for (const client of [first, other]) client.send({ data, id: given });
      await other.drained();
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(first.isOver).toBe(true);
    expect(other.isOver).toBe(false);
    await expect.poll(() => read).toBeGreaterThan(given * data.length);
    stalled.destroy();
  });

  it('cuts a reader that takes nothing for too long, and no idle one', { tags: ['S3.stream.slow'] }, async () => {
    const mostBufferedBytes = 64 * 2 ** 20;
    const { follow, clients } = await streaming({ mostBufferedBytes }, 200);
    const idle = await follow();
    await follow();
    const [first, second] = clients;
    second?.send({ data: 'x'.repeat(mostBufferedBytes / 2), id: 1 });
    await expect.poll(() => second?.isOver, { timeout: 10_000 }).toBe(true);
    expect(first?.isOver).toBe(false);
    first?.send({ data: 'still here', id: 2 });
    let text = '';
    for await (const piece of idle.setEncoding('utf8')) {
      text += String(piece);
      if (text.endsWith('\n\n') && text.includes('data')) break;
    }
    expect(text).toBe('retry: 3000\n\nid: 2\ndata: still here\n\n');
  });
});
