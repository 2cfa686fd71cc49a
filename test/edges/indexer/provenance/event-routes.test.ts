import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jetstreamManager } from '@nats-io/jetstream';
import { expect, it, onTestFinished } from 'vitest';
import { checkProof } from '../../../../src/edges/http/pages/public/verify.js';
import { createEventLinks } from '../../../../src/engine/archive/event-links.ts';
import { createEventReads } from '../../../../src/engine/archive/event-reads.ts';
import { createProvenLogs } from '../../../../src/engine/archive/proof/serving.ts';
import { streamName } from '../../../../src/engine/log/streams.ts';
import { catalogue, entityOf, type Fact } from '../../../../src/events/catalogue.ts';
import { type Kept, keptLog, untilArchived } from '../../../engine/archive/kept.ts';
import { appendFacts, decision, probeOf, thinOut } from '../../../engine/log/fresh-log.ts';
import { until } from '../../../support/polling.ts';
import { randomHistory } from '../../../support/histories/random-history.ts';
import { actionChecker } from './action-checker.ts';
import { expectTagged } from './expect-tagged.ts';
import { pastOf, type RestServer, startRest } from '../rest/rest-server.ts';

type Shown = Readonly<{
  stream: string;
  sequence: number;
  recordedtime: string;
  tx: string | null;
  height: number | null;
  event_url: string;
  proof_url: string;
  event: Readonly<{
    id: string;
    previousid?: string;
    subject: string;
    type: string;
    data: Readonly<Record<string, unknown>>;
  }>;
  body?: string;
  proof?: string | null;
}>;

type World = Readonly<{
  kept: Kept;
  rest: RestServer;
  facts: readonly Fact[];
  vkey: string;
  /** Reads of events so far. */
  events: () => number;
  /** How many of the last events of a record a copy of the log lacks. */
  lagging: { of: number };
}>;

const ofActions = (facts: readonly Fact[]): Fact[] => facts.filter(({ type }) => catalogue[type].kind === 'action');

/** The API on a log and an archive of their own, all of which is signed. */
async function world(): Promise<World> {
  const kept = await keptLog();
  const { stop } = kept.start();
  const history = randomHistory(30, { actions: 20 });
  // Facts of one stream alone, in the order of the log, so that the read model has its sequences.
  const facts = [...Map.groupBy(ofActions(history), entityOf).values()].flat();
  await appendFacts(kept.log, [...facts, ...history.filter(({ type }) => catalogue[type].kind === 'node')]);
  await appendCaused(kept);
  const logs = createProvenLogs({ pools: kept.store.pools, network: kept.network });
  const streams = ['ACTIONS', 'NODES', 'PROBES', 'SYNC', 'TRANSFERS'] as const;
  await Promise.all(streams.map((stream) => untilArchived(kept, stream)));
  for (const stream of streams.filter((one) => one !== 'TRANSFERS')) {
    const { lastSequence } = await kept.log.head(stream);
    await until('all is signed', async () => (await logs.checkpoint(stream))?.size === lastSequence);
  }
  await stop();
  const events = createEventReads({ pools: kept.store.pools, network: kept.network, log: kept.log });
  const { hasForgotten, lastAsOf, confirmedLast } = kept.log;
  const past = { ...pastOf(facts), hasForgotten, lastAsOf, confirmedLast };
  const lagging = { of: 0 };
  let reads = 0;
  const logged: typeof events.logged = async (...asked) => {
    reads += 1;
    const all = await events.logged(...asked);
    return all.slice(0, all.length - lagging.of);
  };
  const links = createEventLinks({ pools: kept.store.pools, network: kept.network });
  const rest = await startRest(facts, { events: { ...events, logged }, links, logs, past });
  onTestFinished(rest.close);
  const vkey = (await logs.checkpoint('ACTIONS'))?.vkey ?? '';
  return { kept, rest, facts, vkey, lagging, events: () => reads };
}

/** Probes that a request caused, the last of them only as the beginning of its chain, and a private event. */
async function appendCaused({ log }: Kept): Promise<void> {
  const at = '2026-11-21T10:00:00.000Z';
  const request = { type: 'SyncRequested', data: { source: 'actions' } } as unknown as Fact;
  await log.append([{ kind: 'sync', entity: 'actions', facts: [request], expected: 0 }], { at });
  const first = (await log.readOne('SYNC', 1))?.id ?? '';
  for (const node of ['a', 'b', 'c'])
    await log.append([decision(0, probeOf(node))], {
      at,
      correlation: first,
      causation: node === 'c' ? 'other' : first,
    });
  const last = (await log.last('probe', ['a'])).get('a');
  await log.append([{ ...decision(last?.sequence ?? 0, probeOf('a', 2)), previous: last?.id }], { at });
  const retrieval = '0'.repeat(64);
  const fact = { type: 'RetrievalStarted', data: { retrieval } } as unknown as Fact;
  await log.append([{ kind: 'retrieval', entity: retrieval, facts: [fact], expected: 0 }], { at, causation: first });
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('base64');

/** The action with the most events. */
const longest = (facts: readonly Fact[]): string =>
  [...Map.groupBy(facts, entityOf)].toSorted(([, a], [, b]) => b.length - a.length)[0]?.[0] ?? '';

async function eventsIn(rest: RestServer, path: string): Promise<Shown[]> {
  return (await rest.get(path)).body.events as Shown[];
}

it('GET /v1/actions/{id}/events shows each event with its place, its bytes and a proof of them', async () => {
  const { rest, facts, vkey } = await world();
  for (const id of [...new Set(facts.map(entityOf))].slice(0, 8)) {
    const events = await eventsIn(rest, `/v1/actions/${id}/events?proofs=inline`);
    expect(events.map(({ event }) => event.data)).toEqual(
      facts.filter((fact) => entityOf(fact) === id).map(({ data }) => data),
    );
    for (const { stream, sequence, event, body = '', proof, ...shown } of events) {
      expect([stream, event.subject, JSON.parse(body)]).toEqual(['ACTIONS', id, event]);
      const stored = await rest.get(shown.event_url);
      expect(stored.text).toBe(body);
      expect(stored.headers.get('repr-digest')).toBe(`sha-256=:${sha256(body)}:`);
      expect(proof).toBe((await rest.get(shown.proof_url)).text);
      expect(await checkProof(proof ?? '', Buffer.from(body), vkey)).toMatchObject({ index: sequence - 1 });
      const { transaction, height, seenAtHeight } = event.data as Record<string, never>;
      const { hash = null, height: at } = (transaction ?? {}) as { hash?: string; height?: number };
      expect([shown.tx, shown.height]).toEqual([hash, at ?? height ?? seenAtHeight ?? null]);
    }
  }
});

it('GET /v1/supernodes/{id}/events shows those of a SuperNode, and what is private nobody', async () => {
  const { rest, kept } = await world();
  const [[node = '', last] = []] = await kept.log.lastOfAll('node');
  const events = await eventsIn(rest, `/v1/supernodes/${node}/events`);
  expect(events.at(-1)).toMatchObject({ stream: 'NODES', sequence: last?.sequence, event: { id: last?.id } });
  expect(events.at(-1)).not.toHaveProperty('body');
  for (const path of ['/v1/supernodes/nobody/events', '/v1/actions/x/events', '/v1/transfers/1/events'])
    expect([path, await rest.get(path)]).toMatchObject([path, { status: 404, body: { code: 'NOT_FOUND' } }]);
});

it('pages by after and limit, also as a list of CloudEvents of the very bytes', async () => {
  const { rest, facts } = await world();
  const id = longest(facts);
  const all = await eventsIn(rest, `/v1/actions/${id}/events?proofs=inline`);
  expect(all.length).toBeGreaterThan(2);
  const walked: string[] = [];
  for (let path = `/v1/actions/${id}/events?limit=2`; path !== '';) {
    const batch = await rest.get(path, { headers: { accept: 'application/cloudevents-batch+json' } });
    expect(batch.headers.get('content-type')).toMatch(/^application\/cloudevents-batch\+json/);
    walked.push(batch.text.slice(1, -1));
    const shown = await rest.get(path);
    path = /^<(.*)>; rel="next"$/.exec(batch.headers.get('link') ?? '')?.[1] ?? '';
    expect(shown.body.next_after === null).toBe(path === '');
  }
  expect(walked.join(',')).toBe(all.map(({ body }) => body).join(','));
  expect(await eventsIn(rest, `/v1/actions/${id}/events?after=${all.at(-1)?.sequence}`)).toEqual([]);
  for (const wrong of ['limit=0', 'limit=1001', 'after=-1', 'proofs=all'])
    expect(await rest.get(`/v1/actions/${id}/events?${wrong}`)).toMatchObject({
      status: 400,
      body: { code: 'INVALID_ARGUMENT' },
    });
});

it('is 304 without reading an event to whoever has them, until the record has a further one', async () => {
  const { kept, rest, facts, events, lagging } = await world();
  const [id = '', other = ''] = [...new Set(facts.map(entityOf))];
  const ask = async (path: string, tag = '', accept = '*/*') =>
    await rest.get(`/v1/actions/${id}/events${path}`, { headers: { 'if-none-match': tag, accept } });
  const tagOf = async (...asked: Parameters<typeof ask>) => (await ask(...asked)).headers.get('etag');
  const [tag, first, batch] = [
    await tagOf(''),
    await tagOf('?limit=1'),
    await tagOf('', '', 'application/cloudevents-batch+json'),
  ];
  expect(new Set([tag, first, batch, null]).size).toBe(4);
  expect(await tagOf('?proofs=inline'), 'proofs change with the checkpoint').toBe(null);
  const before = events();
  const again = await ask('', tag ?? '');
  expect([again.status, again.text, again.headers.get('vary')]).toEqual([304, '', 'Accept']);
  expect(events()).toBe(before);
  await appendFacts(kept.log, [{ ...facts[0], data: { ...facts[0]?.data, action: other } } as Fact]);
  expect((await ask('', tag ?? '')).status).toBe(304);
  lagging.of = 1;
  expect(await tagOf(''), 'of a copy of the log that lags').toBe(null);
  lagging.of = 0;
  const { sequence = 0, fact } = (await kept.log.confirmedLast('action', id)) ?? {};
  await kept.log.append([{ kind: 'action', entity: id, facts: fact ? [fact] : [], expected: sequence }], {
    at: '2026-11-21T10:00:00.000Z',
  });
  expect((await ask('', tag ?? '')).status).toBe(200);
});

it('shows events that the log has lost as the archive has them', async () => {
  const { rest, facts, kept } = await world();
  const id = longest(facts);
  const path = `/v1/actions/${id}/events?limit=3&proofs=inline`;
  const before = await eventsIn(rest, path);
  const { streams } = await jetstreamManager(kept.nc, { checkAPI: false });
  await streams.update(streamName('ACTIONS', kept.network), { max_msgs_per_subject: 1 });
  expect(await kept.log.hasForgotten('ACTIONS')).toBe(true);
  expect(await eventsIn(rest, path)).toEqual(before);
});

it('GET /log/{stream}/events/{sequence}/previous leads from an action’s last event to its first one', async () => {
  const { rest, facts, kept } = await world();
  for (const id of [...new Set(facts.map(entityOf))].slice(0, 5)) {
    const events = await eventsIn(rest, `/v1/actions/${id}/events`);
    const walked: string[] = [];
    for (let at = events.at(-1)?.event_url ?? ''; at !== '';) {
      walked.unshift(at);
      const answer = await rest.get(`${at}/previous`, { redirect: 'manual' });
      if (answer.status !== 302) expect([answer.status, answer.text]).toEqual([204, '']);
      at = answer.headers.get('location') ?? '';
    }
    expect(walked).toEqual(events.map((one) => one.event_url));
    expect(events.map(({ event }) => event.previousid)).toEqual(events.map((_, at) => events[at - 1]?.event.id));
  }
  for (const path of [
    '/log/ACTIONS/events/999999/previous',
    '/log/ACTIONS/events/x/previous',
    '/log/TRANSFERS/events/1/previous',
  ])
    expect([path, (await rest.get(path)).status]).toEqual([path, 404]);

  const path = '/log/PROBES/events/4/previous';
  expect(JSON.parse((await rest.get(path)).text)).toMatchObject({ subject: 'a', data: { tookMs: 0 } });
  await thinOut(kept.nc, kept.network, 'PROBES');
  expect(await rest.get(path)).toMatchObject({ status: 410, body: { code: 'GONE' } });
});

it('a stranger checks an action by the script of docs/history.md, which notices what a list withholds', async () => {
  const { rest, facts } = await world();
  const run = await actionChecker();
  const id = longest(facts);
  const count = facts.filter((fact) => entityOf(fact) === id).length;
  expect(await run(rest.url, id)).toBe(`action ${id}: all ${count} events are in the signed log of ${facts.length}\n`);
  for (const withheld of [0, 1]) {
    const liar = await startLiar(rest.url, (events) => events.toSpliced(withheld, 1));
    await expect(run(liar, id)).rejects.toThrow('the list is not');
  }
});

/** A server that passes on the answers of another one, but for a list of events. */
async function startLiar(to: string, change: (events: readonly unknown[]) => readonly unknown[]): Promise<string> {
  const server = createServer((request, response) => {
    void (async () => {
      const answer = await fetch(to + (request.url ?? ''), { redirect: 'manual' });
      const bytes = Buffer.from(await answer.arrayBuffer());
      const location = answer.headers.get('location');
      response.writeHead(answer.status, location === null ? {} : { location });
      if (!request.url?.startsWith('/v1/actions/')) return response.end(bytes);
      const { events } = JSON.parse(bytes.toString()) as { events: unknown[] };
      return response.end(JSON.stringify({ events: change(events) }));
    })();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it('GET /v1/transactions/{hash}/events shows the events of actions that report a transaction', async () => {
  const { rest, facts } = await world();
  const hashes = facts.map(({ data }) => ('transaction' in data ? data.transaction?.hash : undefined));
  const [hash = ''] = hashes.filter((one) => one !== undefined);
  const own = hashes.flatMap((one, at) => (one === hash ? [at + 1] : []));
  const events = await eventsIn(rest, `/v1/transactions/${hash.toLowerCase()}/events?proofs=inline`);
  expect(events.map((one) => [one.stream, one.sequence, one.tx])).toEqual(own.map((at) => ['ACTIONS', at, hash]));
  expect(events[0]?.body).toBe((await rest.get(events[0]?.event_url ?? '')).text);
  expect(await eventsIn(rest, `/v1/transactions/${hash}/events?after=PROBES:1`)).toEqual([]);
  await expectTagged(rest, `/v1/transactions/${hash}/events`);
  expect(await rest.get('/v1/transactions/unknown/events')).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
});

it('GET /v1/causes/{id} shows an event and what it caused, page by page, and nothing private', async () => {
  const { rest, kept } = await world();
  const id = (await kept.log.readOne('SYNC', 1))?.id ?? '';
  const path = `/v1/causes/${id}?limit=2`;
  const first = await rest.get(path);
  await expectTagged(rest, `/v1/causes/${id}`);
  expect(first.body.next_after).toBe('PROBES:2');
  expect(first.body.cause).toMatchObject({ stream: 'SYNC', sequence: 1, event: { id, subject: 'actions' } });
  const next = /^<(.*)>; rel="next"$/.exec(first.headers.get('link') ?? '')?.[1] ?? '';
  const all = [...(first.body.events as Shown[]), ...(await eventsIn(rest, next))];
  expect(all.map(({ stream, event }) => [stream, event.subject])).toEqual(
    ['a', 'b', 'c'].map((node) => ['PROBES', node]),
  );
  const batch = await rest.get(path, { headers: { accept: 'application/cloudevents-batch+json' } });
  expect((JSON.parse(batch.text) as { id: string }[]).map((one) => one.id)).toEqual(
    all.slice(0, 2).map(({ event }) => event.id),
  );
  expect(await rest.get(`${path}&after=PROBES`)).toMatchObject({ status: 400, body: { code: 'INVALID_ARGUMENT' } });
  for (const unknown of ['unknown', 'unknown?after=ACTIONS:1', '%00', all[0]?.event.id])
    expect((await rest.get(`/v1/causes/${unknown}`)).body).toEqual({ events: [], next_after: null });
});
