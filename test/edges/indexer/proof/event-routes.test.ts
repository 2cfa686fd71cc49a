import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createEventPages } from '../../../../src/engine/archive/event-pages.ts';
import { createProvenLogs, type ProvenLogs } from '../../../../src/engine/archive/proof/serving.ts';
import type { StreamName } from '../../../../src/events/streams.ts';
import { metaSchema } from '../../../../src/engine/models/engine/generations.ts';
import { withClient } from '../../../../src/engine/models/pool.ts';
import { type Kept, keptLog, untilArchived } from '../../../engine/archive/kept.ts';
import { actionOf, appendFacts, probeOf, thinOut, validatorOf } from '../../../engine/log/fresh-log.ts';
import { freshFolder } from '../../../support/programs/fresh-folder.ts';
import { until } from '../../../support/polling.ts';
import { randomHistory, seeded } from '../../../support/histories/random-history.ts';
import { type Answer, pastOf, type RestServer, startRest } from '../rest/rest-server.ts';

/** How often the reader of the endurance test comes back: some hundred times, and 1,000 where it is asked for. */
const reconnects = Number(process.env.ANNALS_TEST_RECONNECTS ?? 150);

type World = Readonly<{ kept: Kept; rest: RestServer; logs: ProvenLogs; reads: () => number }>;

async function world(): Promise<World> {
  const kept = await keptLog();
  const logs = createProvenLogs({ pools: kept.store.pools, network: kept.network });
  const pages = createEventPages({ nc: kept.nc, pools: kept.store.pools, network: kept.network });
  let reads = 0;
  const after: typeof pages = async (...page) => {
    reads += 1;
    return await pages(...page);
  };
  const past = { ...pastOf([]), head: kept.log.head };
  const rest = await startRest([], { logs, past, eventSource: { after, watch: kept.log.watch } });
  onTestFinished(rest.close);
  return { kept, rest, logs, reads: () => reads };
}

async function untilSigned({ kept, logs }: World, stream: StreamName): Promise<number> {
  await untilArchived(kept, stream);
  const { lastSequence } = await kept.log.head(stream);
  await until('a checkpoint is signed', async () => (await logs.checkpoint(stream))?.size === lastSequence);
  return lastSequence;
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

const linesOf = ({ text }: Answer): string[] => text.split('\n').slice(0, -1);

/** All lines of a stream, page by page along the links, with the sequences that its headers name. */
async function walked(rest: RestServer, first: string): Promise<[number, string][]> {
  const all: [number, string][] = [];
  for (let next = first; ;) {
    const answer = await rest.get(next);
    expect(answer.status).toBe(200);
    const lines = linesOf(answer);
    if (lines.length === 0) return all;
    const sequences = (answer.headers.get('annals-sequences') ?? '').split(',').flatMap((range) => {
      const [from = 0, to = from] = range.split('-').map(Number);
      return Array.from({ length: to - from + 1 }, (_, at) => from + at);
    });
    expect(sequences.length).toBe(lines.length);
    all.push(...sequences.map((sequence, at): [number, string] => [sequence, lines[at] ?? '']));
    next = /<(.+)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1] ?? '';
  }
}

/** The entries of the signed tree, from its bundles as they are served. */
async function entriesOf({ rest }: World, stream: StreamName, size: number): Promise<string[]> {
  const entries: string[] = [];
  for (let index = 0; index * 256 < size; index++) {
    const width = Math.min(256, size - index * 256);
    const name = `${String(index).padStart(3, '0')}${width < 256 ? `.p/${width}` : ''}`;
    const response = await fetch(`${rest.url}/log/${stream}/tile/entries/${name}`);
    const bytes = Buffer.from(await response.arrayBuffer());
    for (let at = 0; at < bytes.length; at += 34) entries.push(bytes.subarray(at + 2, at + 34).toString('hex'));
  }
  return entries;
}

/** Reads events of a stream after one until there are so many, and breaks off. */
async function readSome(url: string, after: number, count: number): Promise<[number, string][]> {
  const headers = { accept: 'text/event-stream', 'last-event-id': String(after) };
  const request = get(url, { agent: false, headers });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  expect([response.statusCode, response.headers['content-type']]).toEqual([200, 'text/event-stream']);
  const events: [number, string][] = [];
  let text = '';
  for await (const piece of response.setEncoding('utf8')) {
    text += String(piece);
    const complete = text.split('\n\n');
    text = complete.pop() ?? '';
    for (const event of complete) {
      const [, id, data] = /^id: (\d+)\ndata: (.*)$/.exec(event) ?? [];
      if (id !== undefined && data !== undefined) events.push([Number(id), data]);
    }
    if (events.length >= count) break;
  }
  request.destroy();
  return events;
}

describe('GET /log/{stream}/events', () => {
  it('gives every event of a log on a line of its own, page by page, and its hash is the entry of the tree', async () => {
    const all = await world();
    all.kept.start();
    await appendFacts(all.kept.log, randomHistory(11, { actions: 120 }));
    const size = await untilSigned(all, 'ACTIONS');
    const events = await walked(all.rest, '/log/ACTIONS/events?limit=100');
    expect(events.map(([sequence]) => sequence)).toEqual(Array.from({ length: size }, (_, at) => at + 1));
    expect(events.map(([, text]) => hashOf(text))).toEqual(await entriesOf(all, 'ACTIONS', size));
    const end = await all.rest.get(`/log/ACTIONS/events?after=${size}`);
    expect([end.status, end.text, end.headers.get('annals-through')]).toEqual([200, '', String(size)]);
    for (const after of [size + 1, Number.MAX_SAFE_INTEGER])
      expect([after, await all.rest.get(`/log/ACTIONS/events?after=${after}`)]).toMatchObject([
        after,
        {
          status: 400,
          body: { code: 'BEYOND_HEAD' },
        },
      ]);
  });

  it('is copied and checked by the commands of docs/live.md', async () => {
    const all = await world();
    all.kept.start();
    await appendFacts(all.kept.log, randomHistory(12, { actions: 100 }));
    const size = await untilSigned(all, 'ACTIONS');
    const [, script = ''] = /```sh\n([^]*?)```/.exec(await readFile('docs/live.md', 'utf8')) ?? [];
    const { folder: cwd, remove } = freshFolder();
    onTestFinished(remove);
    const ran = await promisify(execFile)('bash', ['-c', script], { cwd, env: { ...process.env, BASE: all.rest.url } });
    expect(ran).toEqual({ stdout: `all ${size} events are those of the signed log\n`, stderr: '' });
    const copied = await readFile(path.join(cwd, 'events.ndjson'), 'utf8');
    expect(copied.split('\n').length - 1).toBe(size);
  });

  it('has from the archive what the log has lost, and is refused while an event is in neither', async () => {
    const { kept, rest } = await world();
    const { stop } = kept.start();
    for (const height of [1, 2, 3, 4]) await appendFacts(kept.log, [actionOf('7', height), actionOf('8', height)]);
    await untilArchived(kept, 'ACTIONS');
    await stop();
    const before = linesOf(await rest.get('/log/ACTIONS/events'));
    expect(before.length).toBe(8);
    await thinOut(kept.nc, kept.network, 'ACTIONS');
    expect((await kept.log.head('ACTIONS')).firstSequence).toBe(7);
    expect(linesOf(await rest.get('/log/ACTIONS/events'))).toEqual(before);
    expect(linesOf(await rest.get('/log/ACTIONS/events?after=3&limit=2'))).toEqual(before.slice(3, 5));
    const schema = metaSchema(kept.network);
    const inDatabase = (text: string) => withClient(kept.store.pools.bulk, (client) => client.query(text));
    await inDatabase(`delete from ${schema}.archive where sequence = 2`);
    await inDatabase(`update ${schema}.archive set body = set_byte(body, 90, 35) where sequence = 5`);
    expect(linesOf(await rest.get('/log/ACTIONS/events'))).toEqual(before.slice(0, 1));
    expect(await rest.get('/log/ACTIONS/events?after=1')).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } });
    await inDatabase(
      `insert into ${schema}.archive_losses (stream, first, last, reason, ids) values ('ACTIONS', 2, 2, '', '[]')`,
    );
    const past = await rest.get('/log/ACTIONS/events?after=1');
    expect([linesOf(past), past.headers.get('annals-sequences')]).toEqual([before.slice(2, 4), '3-4']);
  });

  it('has the events of a full bundle as a file that never changes, where nothing is forgotten or lost', async () => {
    const all = await world();
    const { kept, rest } = all;
    const { stop } = kept.start();
    await appendFacts(kept.log, randomHistory(14, { actions: 200 }));
    await appendFacts(kept.log, [probeOf('a')]);
    const size = await untilSigned(all, 'ACTIONS');
    await stop();
    expect(size).toBeGreaterThan(512);
    const entries = await entriesOf(all, 'ACTIONS', size);
    const bundle = await rest.get('/log/ACTIONS/tile/events/001');
    expect(linesOf(bundle).map(hashOf)).toEqual(entries.slice(256, 512));
    expect(bundle.headers.get('cache-control')).toContain('immutable');
    expect(bundle.headers.get('content-encoding')).toBe('gzip');
    const plain = await rest.get('/log/ACTIONS/tile/events/001', { headers: { 'accept-encoding': 'identity' } });
    expect([plain.headers.get('content-encoding'), plain.text]).toEqual([null, bundle.text]);
    const last = String(Math.floor(size / 256)).padStart(3, '0');
    for (const name of [`ACTIONS/tile/events/${last}`, 'ACTIONS/tile/events/000.p/3', 'PROBES/tile/events/000'])
      expect([name, (await rest.get(`/log/${name}`)).status]).toEqual([name, 404]);
    await thinOut(kept.nc, kept.network, 'ACTIONS');
    expect((await rest.get('/log/ACTIONS/tile/events/001')).text).toBe(bundle.text);
    const schema = metaSchema(kept.network);
    const { lastSequence } = await kept.log.head('ACTIONS');
    await withClient(kept.store.pools.bulk, async (client) => {
      await client.query(`delete from ${schema}.archive`);
      await client.query(`insert into ${schema}.archive_losses (stream, first, last, reason, ids)
        values ('ACTIONS', 1, ${lastSequence}, '', '[]')`);
    });
    expect(await rest.get('/log/ACTIONS/tile/events/001')).toMatchObject({ status: 410, body: { code: 'GONE' } });
  });

  it('has the events of one kind, and streams that forget with their holes', async () => {
    const { kept, rest } = await world();
    for (const n of [1, 2, 3]) await appendFacts(kept.log, [validatorOf(`v${n}`), probeOf('a', n), probeOf('b', n)]);
    await thinOut(kept.nc, kept.network, 'PROBES');
    const probes = await walked(rest, '/log/PROBES/events?limit=1');
    expect(probes.map(([sequence]) => sequence)).toEqual([5, 6]);
    expect(linesOf(await rest.get('/log/NODES/events?kind=validator')).length).toBe(3);
    const none = await rest.get('/log/NODES/events?kind=node');
    expect([none.text, none.headers.get('annals-through')]).toEqual(['', '3']);
  });

  it('is 304 without a read to whoever has the page, until the log has more of it', async () => {
    const { kept, rest, reads } = await world();
    await appendFacts(
      kept.log,
      [1, 2, 3].map((height) => actionOf('7', height)),
    );
    const ask = async (page: string, tag: string) =>
      await rest.get(`/log/ACTIONS/events${page}`, { headers: { 'if-none-match': tag } });
    const pages = ['', '?limit=2', '?after=1', '?after=3', '?limit=9&kind=action'];
    const tags = await Promise.all(pages.map(async (page) => (await ask(page, '')).headers.get('etag') ?? ''));
    expect(new Set(tags).size).toBe(pages.length);
    const before = reads();
    for (const [at, page] of pages.entries()) {
      const { status, text, headers } = await ask(page, tags[at] ?? '');
      expect([page, status, text, headers.get('etag')]).toEqual([page, 304, '', tags[at]]);
      expect([headers.get('cache-control'), headers.get('vary')]).toEqual(['no-cache', 'Accept']);
    }
    expect(reads()).toBe(before);
    await appendFacts(kept.log, [actionOf('8')]);
    const later = await Promise.all(pages.map(async (page, at) => (await ask(page, tags[at] ?? '')).status));
    expect(later).toEqual([200, 304, 200, 200, 200]);
  });

  it('has no private log, and refuses what a stream has not', async () => {
    const { rest } = await world();
    for (const stream of ['TRANSFERS', 'POOL', 'nothing'])
      expect(await rest.get(`/log/${stream}/events`)).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
    for (const bad of ['kind=request', 'kind=probe', 'after=-1', 'limit=10001', 'limit=0'])
      expect([bad, (await rest.get(`/log/ACTIONS/events?${bad}`)).status]).toEqual([bad, 400]);
    const headers = { accept: 'text/event-stream', 'last-event-id': '5' };
    expect(await rest.get('/log/ACTIONS/events', { headers })).toMatchObject({ body: { code: 'BEYOND_HEAD' } });
    const leaving = new AbortController();
    const lines = { headers: { accept: 'text/event-stream;q=0, */*' }, signal: leaving.signal };
    const { headers: answered } = await fetch(`${rest.url}/log/ACTIONS/events`, lines);
    expect(answered.get('content-type')).toBe('application/x-ndjson');
    leaving.abort();
  });

  it(`misses and repeats nothing for a reader that comes back ${reconnects} times while facts are written`, async () => {
    const all = await world();
    all.kept.start();
    const random = seeded(4);
    await appendFacts(all.kept.log, randomHistory(13, { actions: 40 }));
    let isRead = false;
    const writing = (async () => {
      for (let n = 0; !isRead; n++) await appendFacts(all.kept.log, [actionOf(`live ${n}`), actionOf(`more ${n}`)]);
    })();
    const events: [number, string][] = [];
    for (let n = 0; n < reconnects; n++) {
      const after = events.at(-1)?.[0] ?? 0;
      const some = await readSome(`${all.rest.url}/log/ACTIONS/events`, after, 1 + random.below(5));
      // What came with the last bytes is forgotten, as by a reader that dies.
      events.push(...some.slice(0, Math.max(1, some.length - random.below(3))));
    }
    isRead = true;
    await writing;
    const size = await untilSigned(all, 'ACTIONS');
    events.push(...(await readSome(`${all.rest.url}/log/ACTIONS/events`, events.at(-1)?.[0] ?? 0, 1)));
    expect(events.map(([sequence]) => sequence)).toEqual(events.map((_, at) => at + 1));
    const entries = await entriesOf(all, 'ACTIONS', size);
    expect(events.map(([, text]) => hashOf(text))).toEqual(entries.slice(0, events.length));
    expect(events.length).toBeGreaterThan(reconnects);
  }, 120_000);
});
