import { rmSync } from 'node:fs';
import { METHODS } from 'node:http';
import path from 'node:path';
import fc from 'fast-check';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseConfig } from '../../src/config.ts';
import { streams } from '../../src/events/streams.ts';
import { projectionNames } from '../../src/projections/projection.ts';
import { startAdmin } from '../../src/roles/admin.ts';
import { type Context, openStores } from '../../src/roles/context.ts';
import { startApi } from '../../src/roles/indexer-api.ts';
import { projector } from '../../src/roles/projector.ts';
import type { Part } from '../../src/roles/role.ts';
import { answerTo, type ContractServer } from '../support/contract/client.ts';
import { operationsIn, type Operation } from '../support/contract/document.ts';
import { contractRuns, contractSeed, contractTimeout, problemsOf } from '../support/contract/problems.ts';
import { hostileRequests, type KnownValues } from '../support/contract/requests.ts';
import { nodeFacts, probeFacts } from '../support/histories/facts.ts';
import { appendLives, appendTo, creators, lifeOf } from '../support/histories/long-history.ts';
import { seeded } from '../support/histories/random-history.ts';
import { until } from '../support/polling.ts';
import { freshFolder } from '../support/programs/fresh-folder.ts';
import { freshNetwork, serversIn } from '../support/programs/servers.ts';

const timeout = contractTimeout;
const node = 'lumeravaloper1contract';
const lives = 12;

const stop = new AbortController();
const network = freshNetwork();
const made = freshFolder();
const parts: Part[] = [];
let context: Context;
let pub: ContractServer;
let admin: ContractServer;

type Json = Readonly<Record<string, unknown>>;
const read = async (server: ContractServer, address: string): Promise<Json> => {
  const { status, text = '' } = await answerTo(server, { method: 'GET', path: address, headers: {} });
  expect([address, status]).toEqual([address, 200]);
  return JSON.parse(text) as Json;
};
const listed = async (name: string) => (await read(admin, `/admin/v1/${name}`))[name] as readonly Json[];

beforeAll(async () => {
  const config = parseConfig({
    DATA_DIR: made.folder,
    NETWORK: network,
    PORT: '0',
    DURABILITY: 'relaxed',
    PROBE_PRIVATE_ADDRESSES: 'allow',
  });
  const servers = await serversIn(path.join(made.folder, network));
  context = await openStores(config, servers, { logger: pino({ level: 'silent' }), signal: stop.signal });
  const { log } = context.broker;
  const random = seeded(contractSeed);
  await appendLives(
    log,
    Array.from({ length: lives }, (_, id) => lifeOf(random, id, ['worker'], creators[0])),
  );
  await appendTo(log, 'node', [nodeFacts(node).listed()]);
  await appendTo(log, 'probe', [probeFacts(node).succeeded()]);
  const administration = await startAdmin({ ...context, running: parts });
  parts.push(administration);
  for await (const part of projector.start({ ...context, running: parts })) parts.push(part);
  const api = await startApi({ ...context, running: parts }, null);
  parts.push(api);
  pub = { port: Number(new URL(api.urls['api'] ?? '').port) };
  admin = { socketPath: administration.urls['admin'] ?? '' };
  await until('read models are at the log, and it is signed', async () => {
    const isLive = (await listed('projections')).every(({ status }) => status === 'live');
    return isLive && (await listed('logs')).some(({ stream, size }) => stream === 'ACTIONS' && size !== null);
  });
});
afterAll(async () => {
  for (const part of parts.toReversed()) await part.stop();
  stop.abort();
  await Promise.all([context.pools.end(), context.broker.close()]);
  made.remove();
  rmSync(made.folder, { recursive: true, force: true });
});

/** What the network has, so that most requests name something that there is. */
const known: KnownValues = {
  stream: ['ACTIONS', 'NODES', 'PROBES'],
  sequence: ['1', '2', '999999'],
  id: ['0', '1', '5', node],
  '*': ['0/000', '0/000.p/1', '0/000.p/12', 'entries/000.p/3', '1/000'],
  hash: ['TX10', 'TX12'],
  creator: [creators[0], creators[1]],
  supernode: [creators[0], creators[1]],
  as_of: ['ACTIONS:1', 'ACTIONS:5', '2026-01-01T00:00:00Z', 'NODES:1'],
  diff: ['ACTIONS:1', 'ACTIONS:2'],
  window: ['1d', '7d', '30d'],
  min_height: [0, 1, 10, 1_000_000],
  name: [projectionNames[0], projectionNames[1], 'ACTIONS', 'NODES', 'nothing'],
  url: ['http://127.0.0.1:1/', 'http://127.0.0.2:1/hook?a=b'],
  streams: [['ACTIONS'], ['NODES', 'PROBES']],
  types: [[], ['annals.ActionRegistered.v1']],
  from: [1, 2],
  act: ['scrub', 'rekey'],
};

/** Requests that do not fit: one that is refused changes nothing, in no stream. */
async function changesOf(operation: Operation): Promise<readonly string[]> {
  let before = await settledEnds();
  const property = fc.asyncProperty(
    hostileRequests(operation, { ...known, name: ['nothing', 'POOL', 'rounds'] }),
    async (request) => {
      const answer = await answerTo(admin, request);
      const problem = operation.judge(answer);
      if (problem !== undefined) throw new Error(problem);
      if (answer.status < 400) before = await settledEnds();
      else if (request.method !== 'GET') expect(await ends()).toEqual(before);
    },
  );
  const { failed, counterexample, errorInstance } = await fc.check(property, {
    numRuns: contractRuns,
    seed: contractSeed,
  });
  return failed ? [`${operation.id}: ${String(errorInstance)} for ${JSON.stringify(counterexample)}`] : [];
}

/** Where the streams end once no operation works any more. */
async function settledEnds() {
  await until('all operations have ended', async () =>
    (await listed('operations')).every(({ status }) => status !== 'running'),
  );
  return await ends();
}

const ends = async () =>
  await Promise.all(streams.map(async (one) => [one, (await context.broker.log.head(one)).lastSequence]));

describe('the public document', () => {
  it('holds for requests that fit it and for hostile ones, which change nothing', { timeout }, async () => {
    const operations = operationsIn(await read(pub, '/openapi.json'));
    const before = await ends();
    expect(operations.length).toBeGreaterThan(30);
    const problems: string[] = [];
    for (const operation of operations) {
      problems.push(...(await problemsOf(operation, pub, { kind: 'fitting', known })));
      problems.push(...(await problemsOf(operation, pub, { kind: 'hostile', known })));
    }
    expect(problems).toEqual([]);
    expect(await ends()).toEqual(before);
  });
});

describe('an instant before every event', () => {
  it('is answered as empty, however long ago', async () => {
    for (const time of ['0000-01-01T00:00:00Z', '1677-01-01T00:00:00Z', '1969-12-31T23:59:59Z'])
      expect(await read(pub, `/v1/actions?as_of=${time}`)).toMatchObject({ total: 0 });
  });
});

describe('the document of the administration', () => {
  it('holds for requests that fit it', { timeout }, async () => {
    const problems: string[] = [];
    for (const operation of operationsIn(await read(admin, '/admin/openapi.json')))
      problems.push(...(await problemsOf(operation, admin, { kind: 'fitting', known })));
    expect(problems).toEqual([]);
  });

  it('holds for hostile requests, which change nothing where they are refused', { timeout }, async () => {
    const problems: string[] = [];
    for (const operation of operationsIn(await read(admin, '/admin/openapi.json')))
      problems.push(...(await changesOf(operation)));
    expect(problems).toEqual([]);
  });

  it('refuses a method that no route takes, also one that wants a body', async () => {
    // A Node whose parser does not know the method cannot read the request.
    const status = METHODS.includes('QUERY') ? 405 : 400;
    const query = { method: 'QUERY', headers: {} };
    expect(await answerTo(pub, { ...query, path: '/v1/logs' })).toMatchObject({ status });
    expect(await answerTo(admin, { ...query, path: '/admin/v1/logs' })).toMatchObject({ status });
  });

  it('says what it refuses: bodies of other types, and too large ones', async () => {
    const send = async (type: string, body: string) => {
      const headers = { 'content-type': type };
      const { status, text = '' } = await answerTo(admin, { method: 'POST', path: '/admin/v1/hooks', headers, body });
      return [status, (JSON.parse(text) as Json)['code']];
    };
    expect(await send('text/plain', '{}')).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
    expect(await send('application/json', `"${'x'.repeat(70_000)}"`)).toEqual([413, 'PAYLOAD_TOO_LARGE']);
  });
});
