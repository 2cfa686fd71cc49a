import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { KnownNode } from '../../../../src/commands/probing.ts';
import { createLogger } from '../../../../src/kit/logger.ts';
import { connectNats } from '../../../../src/engine/log/connection.ts';
import { createLeases } from '../../../../src/engine/log/leases.ts';
import { createLog, type Log } from '../../../../src/engine/log/log.ts';
import { ensureStreams } from '../../../../src/engine/log/streams.ts';
import { type ProbingOptions, runProbing } from '../../../../src/edges/indexer/probe/rounds.ts';
import type { Fact } from '../../../../src/events/catalogue.ts';
import { probeFacts } from '../../../support/histories/facts.ts';
import { freshNetwork, testNats } from '../../../support/programs/servers.ts';
import { asRecorded, closedPort, dialInstead, type Doors, recorded, startBlackHole, startNode } from './fake-node.ts';
import { eventually } from '../../../support/polling.ts';

const logger = createLogger({ level: 'error', format: 'json' });
/** Nobody is taken for silent because this machine is busy. */
const limits = { connectMs: 10_000, statusMs: 10_000, servicesMs: 10_000, maxBytes: 1_048_576 };

let nc: NatsConnection;
let log: Log;
let network: string;
let stop: AbortController;
let probing: Promise<void> | undefined;

beforeAll(async () => void (nc = await connectNats({ ...testNats(), name: 'rounds-test' })));
afterAll(() => nc.close());
beforeEach(async () => {
  network = freshNetwork();
  await ensureStreams(nc, network);
  log = createLog(nc, network);
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  await probing;
});

const at = () => new Date().toISOString();

/** Lists nodes at these addresses; a node without one leaves the list. */
async function list(addresses: Readonly<Record<string, string | undefined>>): Promise<void> {
  const last = await log.last('node', Object.keys(addresses));
  const decisions = Object.entries(addresses).map(([node, address = '']) => {
    const known = last.get(node);
    const record = { state: 'active', stateReason: '', address, account: 'a', accounts: [], note: '', p2pPort: '' };
    const data = { node, seenAtHeight: 1, record };
    const type = addresses[node] === undefined ? 'SuperNodeRemoved' : known ? 'SuperNodeChanged' : 'SuperNodeListed';
    return { kind: 'node', entity: node, facts: [{ type, data }], expected: known?.sequence ?? 0 } as const;
  });
  await log.append(decisions, { at: at() });
}

/** What a round of sync of SuperNodes leaves in the log. */
async function completeRound(causation?: string): Promise<void> {
  const last = (await log.last('sync', ['supernodes'])).get('supernodes');
  const known = { chainId: 'c', cursor: 1, unread: [] };
  const data = {
    source: 'supernodes',
    startedAt: at(),
    at: at(),
    height: 1,
    blockTime: at(),
    requests: 1,
    facts: 0,
    skipped: [],
    known,
  };
  const decision = {
    kind: 'sync',
    entity: 'supernodes',
    facts: [{ type: 'SyncRoundCompleted', data }],
    expected: last?.sequence ?? 0,
  } as const;
  await log.append([decision], { at: at(), ...(causation && { causation }) });
}

function start(doorsOf: (ip: string) => Doors, options: Partial<ProbingOptions> = {}): void {
  const leases = createLeases(nc, network);
  const base = {
    log,
    leases,
    intervalMs: 60_000,
    allowPrivate: false,
    allowHostNames: false,
    logger,
    limits,
    signal: stop.signal,
  };
  probing = runProbing({ ...base, dial: dialInstead(doorsOf), ...options });
}

/** All probes of the log in order. */
async function probes(): Promise<Fact<'ProbeSucceeded' | 'ProbeFailed'>[]> {
  const { lastSequence } = await log.head('PROBES');
  const sequences = Array.from({ length: lastSequence }, (_, index) => index + 1);
  const facts = await Promise.all(sequences.map((sequence) => log.readOne('PROBES', sequence)));
  return facts.flatMap((one) =>
    one?.fact.type === 'ProbeSucceeded' || one?.fact.type === 'ProbeFailed' ? [one.fact] : [],
  );
}
async function lastKnown(): Promise<Record<string, KnownNode & { passed: boolean }>> {
  const entries = [...(await log.lastOfAll('probe'))].flatMap(([node, { fact }]) =>
    fact.type === 'ProbeSucceeded' || fact.type === 'ProbeFailed'
      ? [[node, { ...fact.data.known, passed: fact.type === 'ProbeSucceeded' }] as const]
      : [],
  );
  return Object.fromEntries(entries);
}

describe('runProbing', () => {
  it('probes what is listed at the start, and what is listed later, at once', async () => {
    await using node = await startNode();
    await list({ early: '1.1.1.1:4444' });
    start(() => node.doors);
    await eventually(async () =>
      expect(await lastKnown()).toMatchObject({ early: { passed: true, services: ['cascade'] } }),
    );
    await list({ late: '1.1.1.2', hidden: '10.0.0.1:4444', named: 'node.example.org:4444' });
    await eventually(async () => {
      expect(await lastKnown()).toMatchObject({
        late: { passed: true, consecutiveFailures: 0 },
        hidden: { passed: false, consecutiveFailures: 1 },
        named: { passed: false, consecutiveFailures: 1 },
      });
    });
    const refused = (await probes()).find(({ data }) => data.node === 'hidden');
    expect(refused).toMatchObject({
      type: 'ProbeFailed',
      data: { statusAnswer: 'not_asked', ports: [{ port: 4444, outcome: 'not_dialled' }, {}, {}] },
    });
  });

  it(
    'probes every node each interval and counts what fails, until it leaves the list',
    { tags: ['S2.service.probe'] },
    async () => {
      await using node = await startNode();
      let isDown = false;
      const closed = await closedPort();
      await list({ one: '1.1.1.1' });
      start(() => (isDown ? { 4444: closed, 4445: closed, 8002: closed } : node.doors), { intervalMs: 150 });
      await eventually(async () => expect(await lastKnown()).toMatchObject({ one: { passed: true } }));
      isDown = true;
      await eventually(async () => expect((await lastKnown())['one']?.consecutiveFailures).toBeGreaterThan(2));
      const { one } = await lastKnown();
      expect(one?.lastSeenAt).toBeDefined();
      expect(one).toMatchObject({ figures: { version: 'v2.6.2-testnet' }, services: ['cascade'] });
      isDown = false;
      await eventually(async () =>
        expect(await lastKnown()).toMatchObject({ one: { passed: true, consecutiveFailures: 0 } }),
      );
      const counters = (await probes()).map(({ data }) => data.known.consecutiveFailures);
      expect(counters).toEqual(counters.map((count, index) => (count === 0 ? 0 : (counters[index - 1] ?? 0) + 1)));
      await list({ one: undefined, two: '1.1.1.2' });
      await eventually(async () =>
        expect((await probes()).filter(({ data }) => data.node === 'two').length).toBeGreaterThan(2),
      );
      expect((await probes()).slice(-2).map(({ data }) => data.node)).toEqual(['two', 'two']);
    },
  );

  it('asks for services once an hour, also after a restart', { tags: ['S2.open.nodes.services-list'] }, async () => {
    let asked = 0;
    await using node = await startNode((request, response) => {
      if (request.url === '/api/v1/services') asked += 1;
      asRecorded(request, response);
    });
    await list({ one: '1.1.1.1' });
    start(() => node.doors, { intervalMs: 150 });
    await eventually(async () => expect((await probes()).length).toBeGreaterThan(2));
    stop.abort();
    await probing;
    stop = new AbortController();
    const before = (await probes()).length;
    start(() => node.doors, { intervalMs: 150 });
    await eventually(async () => expect((await probes()).length).toBeGreaterThan(before + 1));
    expect(asked).toBe(1);
    expect(await lastKnown()).toMatchObject({ one: { services: ['cascade'] } });
  });

  it('starts a round at once when a round of sync answers a request, and not for any other', async () => {
    await using node = await startNode();
    await list({ one: '1.1.1.1', two: '1.1.1.2' });
    start(() => node.doors);
    await eventually(async () => expect(await probes()).toHaveLength(2));
    await completeRound();
    await completeRound('request-1');
    await eventually(async () => expect(await probes()).toHaveLength(4));
    const round = (await log.last('sync', ['supernodes'])).get('supernodes');
    expect((await log.last('probe', ['one'])).get('one')?.causation).toBe(round?.id);
    await completeRound('request-2');
    await eventually(async () => expect(await probes()).toHaveLength(6));
  });

  it('makes one probe for all nodes that share a host, however they spell it', async () => {
    await using node = await startNode((_, response) => recorded(response, 'status'));
    await list({ one: '1.1.1.1:1', two: '1.1.1.1:2', three: '1.1.1.1' });
    await list({ four: '2606:4700::1111', five: '[2606:4700:0:0:0::1111]:4444', six: '2606:4700:0000::1111' });
    start(() => node.doors);
    await eventually(async () => expect(Object.keys(await lastKnown())).toHaveLength(6));
    expect(node.http.accepted(), 'status and services of either host').toBe(4);
  });

  it('records a healthy node while a slow one is still being probed, and never probes that one twice at a time', async () => {
    let open = 0;
    let most = 0;
    await using slow = await startNode((_, response) => {
      most = Math.max(most, ++open);
      response.on('close', () => (open -= 1));
    });
    await using node = await startNode();
    await list({ healthy: '1.1.1.1', slow: '1.1.1.2' });
    const doorsOf = (ip: string) => (ip === '1.1.1.2' ? slow.doors : node.doors);
    start(doorsOf, { intervalMs: 150, limits: { ...limits, statusMs: 1_500 } });
    await eventually(async () => expect(await lastKnown()).toMatchObject({ slow: { passed: false } }));
    const nodes = (await probes()).map(({ data }) => data.node);
    expect(nodes.indexOf('slow')).toBeGreaterThan(3);
    expect(most).toBe(1);
  });

  it('sweeps 200 nodes, half of them black holes', async () => {
    await using node = await startNode();
    await using hole = await startBlackHole();
    const dark: Doors = { 4444: hole.port, 4445: hole.port, 8002: hole.port };
    const index = Array.from({ length: 200 }, (_, n) => n);
    await list(Object.fromEntries(index.map((n) => [`node${n}`, `1.1.${n % 2}.${n}:4444`])));
    start((ip) => (ip.startsWith('1.1.1.') ? dark : node.doors), { limits: undefined });
    await eventually(async () => expect(Object.keys(await lastKnown())).toHaveLength(200));
    const known = await lastKnown();
    expect(index.filter((n) => known[`node${n}`]?.passed)).toEqual(index.filter((n) => n % 2 === 0));
  });

  it('is done by one replica at a time', { tags: ['S2.service.replicas'] }, async () => {
    await using node = await startNode((_, response) => recorded(response, 'status'));
    await list({ one: '1.1.1.1' });
    const firstStop = new AbortController();
    start(() => node.doors, { signal: firstStop.signal });
    const first = probing;
    // Whoever asks for the lease first has it: the second replica begins only once the first one is known to hold it.
    await eventually(async () => expect(await probes()).toHaveLength(1));
    start(() => node.doors);
    await list({ two: '1.1.1.2' });
    await eventually(async () => expect(await probes()).toHaveLength(2));
    const whileFirst = node.http.accepted();
    firstStop.abort();
    await first;
    await list({ three: '1.1.1.3' });
    await eventually(async () => expect(await probes()).toHaveLength(3));
    // A probe takes two connections to that port: for the status, and for the services.
    expect([whileFirst, node.http.accepted()]).toEqual([4, 6]);
  });

  it('goes on in the rhythm of whoever probed before: a node is due an interval after its last probe', async () => {
    await using node = await startNode();
    await list({ early: '1.1.1.1', late: '1.1.1.2' });
    const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
    const decisions = Object.entries({ early: 60_000, late: 59_000 }).map(
      ([entity, ms]) =>
        ({ kind: 'probe', entity, facts: [probeFacts(entity, ago(ms)).succeeded()], expected: 0 }) as const,
    );
    await log.append(decisions, { at: at() });
    start(() => node.doors);
    const made = async () => (await probes()).slice(decisions.length).map(({ data }) => data.node);
    await eventually(async () => expect(await made()).toContain('late'));
    expect((await made())[0]).toBe('early');
  });

  it('leaves alone nodes that were probed a moment ago', async () => {
    await using node = await startNode();
    await list({ old: '1.1.1.1' });
    const probed = { kind: 'probe', entity: 'old', facts: [probeFacts('old', at()).succeeded()], expected: 0 } as const;
    await log.append([probed], { at: at() });
    start(() => node.doors);
    await list({ young: '1.1.1.3' });
    await eventually(async () => expect((await probes()).map(({ data }) => data.node)).toEqual(['old', 'young']));
  });
});
