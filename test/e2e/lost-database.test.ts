import { rm } from 'node:fs/promises';
import path from 'node:path';
import pLimit from 'p-limit';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectNats } from '../../src/engine/log/connection.ts';
import { createLeases } from '../../src/engine/log/leases.ts';
import { createLog } from '../../src/engine/log/log.ts';
import { streams } from '../../src/events/streams.ts';
import { actionChecker } from '../edges/indexer/provenance/action-checker.ts';
import { allAnswers } from '../support/expected/all-answers.ts';
import { until } from '../support/polling.ts';
import { dataFolder, type Program, startProgram } from '../support/programs/program.ts';
import { untilFollowed } from '../support/programs/program-log.ts';
import { freshNetwork, testNats } from '../support/programs/servers.ts';
import { type Expectations, readExpectations } from '../support/chains/recorded-expectations.ts';
import { runVerb } from '../support/programs/verb.ts';
import { startIndexing } from './indexing.ts';
import { recordProbes } from './recorded-probes.ts';

const network = freshNetwork();
const dataDir = dataFolder();
/** Requests that are recorded at each instant; 300 say more, and are asked again after a rebuild as well. */
const urls = Number(process.env['PAST_URLS'] ?? 9);
const isLong = urls > 9;
const steps = isLong ? Array.from({ length: 20 }, (_, at) => at + 5) : [5, 6, 7, 10, 11, 14, 16, 17, 20, 22, 23, 24];
const atOnce = 24;
const timeout = 300_000 + urls * 5000;
const ending = new AbortController();
let connection: NatsConnection;
let chainUrl = '';
/** What was answered while the history grew, by the path and the position of the answer. */
const recorded: (readonly [path: string, answer: string])[] = [];

beforeAll(async () => (connection = await connectNats({ ...testNats(), name: 'lost-database' })));
afterAll(async () => {
  ending.abort();
  await connection?.close();
});

test('a history is recorded, then the chain goes out of reach', { timeout }, async () => {
  const { chain, program, log, goTo } = await startIndexing(1, { dataDir, network, env: { NATS_URL: brokerUrl() } });
  for (const step of steps) {
    await goTo(step);
    recorded.push(...(await recordAnswers(program.base)));
  }
  await expectRecorded(program.base);
  chainUrl = chain.url;
  await chain.close();
  await until('every source has failed', async () => {
    const last = [...(await log.last('sync', ['actions', 'supernodes', 'validators'])).values()];
    return last.every(({ fact }) => fact.type === 'SyncRoundFailed');
  });
  expect((await log.head('PROBES')).lastSequence).toBeGreaterThan(0);
  expect(await program.stop()).toBe(0);
  await stopSyncAndProbing();
  await recordProbes(log);
  await log.close();
});

test(
  'every answer is the same, byte for byte, after the whole database was deleted',
  { tags: ['S2.open.ops.restart', 'S2.service.tables'], timeout },
  async () => {
    const first = await startAgain();
    const before = await allAnswers(first.base);
    if (isLong) {
      expect(await runVerb(dataDir, 'replay', 'all', '--json')).toMatchObject({ status: 0 });
      await expectRecorded(first.base);
    }
    const heads = await headsNow();
    expect(await first.stop()).toBe(0);

    await rm(path.join(first.folder, 'db'), { recursive: true });
    const second = await startAgain();
    const after = await allAnswers(second.base);
    const differing = [...before].filter(
      ([request, answer]) => JSON.stringify(after.get(request)) !== JSON.stringify(answer),
    );
    expect(differing.map(([request, answer]) => ({ request, answer, after: after.get(request) }))).toEqual([]);
    expect([...after.keys()]).toEqual([...before.keys()]);
    expect(await headsNow()).toEqual(heads);

    await expectRecorded(second.base);
    expectSubstance(before);
    await expectProven(second.base);
    const readiness = await fetch(`${second.base}/readyz`);
    expect(readiness.status).toBe(200);
    expect(await readiness.text()).toContain('The last round failed (unreachable)');
    expect(await second.stop()).toBe(0);
  },
);

const recordedPaths = [
  '/v1/actions?limit=7&include_transactions=true',
  '/v1/actions?state=registered',
  '/v1/actions?type=sense&state=approved',
  '/v1/actions/stats',
  '/v1/supernodes/metrics',
  '/v1/supernodes/stats',
  '/v1/supernodes/action-stats',
  '/v1/supernodes/unavailable',
  '/v1/version/matrix',
  ...moreOf(readExpectations()),
].slice(0, urls);

/** Further requests for every action and SuperNode. */
function moreOf({ actions, steps: all }: Expectations): string[] {
  const nodes = [...new Set(all.flatMap(({ supernodes }) => supernodes.map(({ id }) => id)))];
  const of = <T>(list: readonly T[], pathOf: (one: T) => string): string[] => list.map(pathOf);
  return [
    ...['metrics', 'paymentInfo', 'versions'].flatMap((what) => of(nodes, (id) => `/v1/supernodes/${id}/${what}`)),
    ...of(actions, ({ id }) => `/v1/actions/${id}`),
    ...of(actions, ({ id }) => `/v1/actions/${id}/versions`),
    ...of(actions, ({ height }) => `/v1/actions?limit=5&fromHeight=${height}`),
    ...of(actions, ({ height }) => `/v1/actions?limit=3&type=cascade&toHeight=${height}`),
  ];
}

/** Answers of the head, by the request that is to give the same later. */
async function recordAnswers(base: string): Promise<(typeof recorded)[number][]> {
  return await inParallel(recordedPaths, async (asked) => {
    const response = await fetch(base + asked);
    const position = response.headers.get('annals-position') ?? '';
    const instant = `${asked.includes('?') ? '&' : '?'}as_of=${position}`;
    return [asked + instant, withoutCursor(await response.text())] as const;
  });
}

/** What was recorded is what is answered as of then. */
async function expectRecorded(base: string): Promise<void> {
  const past = await inParallel(recorded, async ([asked]) => [asked, await bodyAt(base + asked)] as const);
  expect(past.filter(([, body], at) => body !== recorded[at]?.[1])).toEqual([]);
  expect(past.length).toBe(steps.length * recordedPaths.length);
}

async function inParallel<T, R>(list: readonly T[], work: (one: T) => Promise<R>): Promise<R[]> {
  const limit = pLimit(atOnce);
  return await Promise.all(list.map((one) => limit(() => work(one))));
}

/** A busy machine may answer 503 at first. */
async function bodyAt(url: string): Promise<string> {
  let answer = await fetch(url);
  await until('it answers', async () => answer.status !== 503 || (answer = await fetch(url)).status !== 503);
  return withoutCursor(await answer.text());
}

/** A cursor names the instant of its walk, so one of the past is another one. */
const withoutCursor = (body: string): string => body.replace(/,"cursor":"[^"]*"/, '');

/** What is compared is worth comparing: every action, SuperNode and figure is among it. */
function expectSubstance(answers: Awaited<ReturnType<typeof allAnswers>>): void {
  const bodies = [...answers].filter(([, { status }]) => status === 200);
  const details = bodies.filter(([request]) => /^\/v1\/actions\/\d+$/.test(request));
  const nodes = bodies.filter(([request]) => /^\/v1\/supernodes\/lumeravaloper\w+\/metrics$/.test(request));
  expect([details.length, nodes.length]).toEqual([71, 9]);
  expect(answers.get('/v1/supernodes/stats')?.body).toContain('"available_count":2,"unavailable_count":7');
  expect(answers.get('/v1/version/matrix')?.body).toContain('v2.6.2-testnet');
  for (const [request, { status, headers }] of answers)
    if (status === 200 && request.startsWith('/v1/')) expect(headers, request).toHaveProperty('annals-position');
}

/** A stranger finds all events of an action in the log that was signed again. */
async function expectProven(base: string): Promise<void> {
  const { lastSequence } = await createLog(connection, network).head('ACTIONS');
  await until('all actions are signed', async () => {
    const { logs } = (await (await fetch(`${base}/v1/logs`)).json()) as { logs: { stream: string; size: number }[] };
    return logs.find(({ stream }) => stream === 'ACTIONS')?.size === lastSequence;
  });
  const check = await actionChecker();
  for (const id of ['1', '7']) expect(await check(base, id)).toContain(`in the signed log of ${lastSequence}\n`);
}

/** Holds the leases that another replica would hold, so that no process syncs or probes: the log stays as it is. */
async function stopSyncAndProbing(): Promise<void> {
  const leases = createLeases(connection, network);
  for (const name of ['sync', 'probe']) {
    const held = new Promise<void>((resolve, reject) => {
      const untilEnding = ({ signal }: Readonly<{ signal: AbortSignal }>) =>
        new Promise<void>((end) => {
          resolve();
          signal.addEventListener('abort', () => end());
        });
      leases.hold(name, ending.signal, untilEnding).catch(reject);
    });
    await held;
  }
}

async function startAgain(): Promise<Program> {
  const program = await startProgram({ dataDir, network, env: { NATS_URL: brokerUrl(), CHAIN_API_BASE: chainUrl } });
  await program.untilReady();
  await untilFollowed(program.base, createLog(connection, network));
  return program;
}

function headsNow(): Promise<unknown> {
  const log = createLog(connection, network);
  return Promise.all(streams.map((stream) => log.head(stream)));
}

function brokerUrl(): string {
  const { url, user, pass } = testNats();
  const address = new URL(url);
  return `${address.protocol}//${user}:${pass}@${address.host}`;
}
