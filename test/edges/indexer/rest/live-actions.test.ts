import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { createEventPages } from '../../../../src/engine/archive/event-pages.ts';
import { createLeases } from '../../../../src/engine/log/leases.ts';
import { migrate } from '../../../../src/engine/models/migrate.ts';
import { createWakeups } from '../../../../src/engine/models/read/wakeups.ts';
import { openBuses } from '../../../../src/edges/bus.ts';
import { projections } from '../../../../src/projections/all.ts';
import { appendFacts, freshLog } from '../../../engine/log/fresh-log.ts';
import { databaseOf, silent, startProjector } from '../../../engine/models/engine.ts';
import { eventually } from '../../../support/polling.ts';
import { randomHistory, seeded } from '../../../support/histories/random-history.ts';
import { freshDatabase } from '../../../support/programs/servers.ts';
import { asRecords, type RestServer, startRest } from './rest-server.ts';

type Change = Readonly<{ id: number; name: string; data: Readonly<Record<string, unknown>> }>;

/** Opens a live list after a position; `next` gives its next event. */
async function follow({ url }: RestServer, path: string, after: number) {
  const headers = { accept: 'text/event-stream', ...(after > 0 && { 'last-event-id': String(after) }) };
  const request = get(url + path, { agent: false, headers });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  expect([response.statusCode, response.headers['content-type']]).toEqual([200, 'text/event-stream']);
  const events = eventsIn(response);
  return {
    next: async () => {
      const { value } = await events.next();
      if (!value) throw new Error('The stream ended');
      return value;
    },
    leave: async () => {
      request.destroy();
      await events.return(undefined).catch(() => undefined);
    },
  };
}

async function* eventsIn(response: IncomingMessage): AsyncGenerator<Change, undefined> {
  let text = '';
  for await (const piece of response.setEncoding('utf8')) {
    text += String(piece);
    const complete = text.split('\n\n');
    text = complete.pop() ?? '';
    for (const event of complete) {
      const [, id, name = '', data = ''] = /^id: (\d+)\nevent: (\w+)\ndata: (.*)$/.exec(event) ?? [];
      if (id !== undefined) yield { id: Number(id), name, data: JSON.parse(data) as Change['data'] };
    }
  }
  return undefined;
}

/** A reader of a live list that keeps the rows it was sent, as a program would. */
function createList() {
  const rows = new Map<string, Readonly<Record<string, unknown>>>();
  let position = 0;
  const put = (all: unknown): void => asRecords(all).forEach((row) => rows.set(String(row['id']), row));
  return {
    position: () => position,
    rows,
    take: ({ id, name, data }: Change): void => {
      expect(id).toBeGreaterThan(position);
      position = id;
      if (name === 'list') return put(data['actions']);
      for (const { id: entered } of asRecords(data['enter'])) expect(rows.has(String(entered))).toBe(false);
      for (const { id: changed } of asRecords(data['change'])) expect(rows.has(String(changed))).toBe(true);
      put(data['enter']);
      put(data['change']);
      for (const left of data['leave'] as string[]) expect(rows.delete(left)).toBe(true);
    },
  };
}

/** The API over a log and its read models, and how many reads there were at once. */
async function startLive() {
  const { nc, network, log } = await freshLog();
  const database = databaseOf(await freshDatabase(), network);
  await migrate(database);
  const wakeups = createWakeups(database, silent);
  onTestFinished(() => wakeups.close());
  startProjector(database, log, { projections, leases: createLeases(nc, network, { ttlMs: 1000 }) });
  await openBuses();
  let [reads, mostReads] = [0, 0];
  const read: typeof database.reader.read = async (use) => {
    reads += 1;
    mostReads = Math.max(mostReads, reads);
    return await database.reader.read(use).finally(() => (reads -= 1));
  };
  const rest = await startRest([], {
    reader: { ...database.reader, read },
    eventSource: { after: createEventPages({ nc, pools: database.pools, network }), watch: log.watch },
    onMoved: wakeups.onMoved,
  });
  onTestFinished(rest.close);
  // Of a projection that is built for the first time the API says so, and one of actions may be there first.
  for (const { name } of projections) await eventually(async () => expect(await database.live(name)).toBeDefined());
  const caughtUp = async (): Promise<void> => {
    const { lastSequence } = await log.head('ACTIONS');
    await eventually(async () => expect((await database.live('actions'))?.position).toBe(lastSequence));
  };
  return { rest, log, caughtUp, mostReads: () => mostReads };
}

test('readers of a live list that come back together leave connections of the database to others', async () => {
  const { rest, log, caughtUp, mostReads } = await startLive();
  await appendFacts(log, randomHistory(21, { actions: 40 }));
  await caughtUp();
  const readers = await Promise.all(Array.from({ length: 12 }, () => follow(rest, '/v1/actions?limit=200', 1)));
  for (const { next, leave } of readers) {
    expect((await next()).name).toBe('rows');
    await leave();
  }
  expect(mostReads()).toBe(2);
}, 60_000);

test('GET /v1/actions as an event stream is the list, whatever enters, changes or leaves it, over every reconnect', async () => {
  const { rest, log, caughtUp } = await startLive();
  const history = randomHistory(21, { actions: 40 });
  const random = seeded(5);
  await appendFacts(log, history.slice(0, Math.floor(history.length / 3)));
  const byId = (rows: readonly Readonly<Record<string, unknown>>[]) =>
    new Map(rows.map((row) => [String(row['id']), row]));

  const paths = ['', '&state=finalized', '&type=sense', '&state=registered'].map(
    (filter) => `/v1/actions?limit=200${filter}`,
  );
  const lists = paths.map((path) => ({ path, list: createList() }));
  const third = Math.floor(history.length / 3);
  const readOn = async ({ path, list }: (typeof lists)[number]): Promise<void> => {
    const wanted = byId(asRecords((await rest.get(path)).body.actions));
    const isThere = (): boolean => isDeepStrictEqual(list.rows, wanted);
    do {
      const { next, leave } = await follow(rest, path, list.position());
      for (let left = 1 + random.below(3); left > 0 && !isThere(); left--) list.take(await next());
      await leave();
    } while (!isThere());
  };
  for (let at = third; ; at += 20) {
    await caughtUp();
    for (const one of lists) await readOn(one);
    if (at >= history.length) break;
    await appendFacts(log, history.slice(at, at + 20));
  }
  expect(lists[0]?.list.rows.size).toBe(40);
  expect(
    (await rest.get('/v1/actions', { headers: { accept: 'text/event-stream', 'last-event-id': '99999' } })).body,
  ).toMatchObject({ code: 'BEYOND_HEAD' });
  for (const accept of ['text/event-stream;q=0, application/json', 'application/json, text/event-stream;q=0.1']) {
    const leaving = new AbortController();
    const answer = await fetch(`${rest.url}/v1/actions`, { headers: { accept }, signal: leaving.signal });
    expect([accept, answer.headers.get('content-type')]).toEqual([accept, 'application/json; charset=utf-8']);
    leaving.abort();
  }
}, 60_000);
