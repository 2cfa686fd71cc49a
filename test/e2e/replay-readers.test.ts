import { readFile } from 'node:fs/promises';
import { constants, getPriority, platform } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { streams } from '../../src/events/streams.ts';
import { projectionNames } from '../../src/projections/projection.ts';
import { type ChainStub, startChainStub } from '../support/chains/chain-stub.ts';
import { accountOf, operatorOf } from '../support/chains/chain-stub-state.ts';
import {
  appendLives,
  appendTo,
  changesOf,
  creators,
  heightOf,
  lifeOf,
  probesOf,
} from '../support/histories/long-history.ts';
import { until } from '../support/polling.ts';
import { type Polled, type Pollers, startPollers } from '../support/callers/pollers.ts';
import { type Program, startProgram } from '../support/programs/program.ts';
import { openProgramLog, type ProgramLog, untilFollowed } from '../support/programs/program-log.ts';
import { seeded } from '../support/histories/random-history.ts';
import { jsonLines, runVerb, startVerb } from '../support/programs/verb.ts';
import { everyPath, isOfTheLog, type Json, json } from './read-paths.ts';

const leastEvents = 50_000;
const actionCount = 14_000;
const probesEach = 350;
const changesEach = 40;
const replays = 1;
const writeAgainMs = 250;
/** Answers that every reader gets before the replay and after it. */
const answersAround = 3;
const nodes = Array.from({ length: 40 }, (_, n) => `node ${n}`);
const [quiet = '', busy = ''] = nodes;
/** Nothing that is written during a replay touches these. */
const lateCreator = accountOf('late');
const quietAccounts = nodes.filter((name) => name !== busy).map(accountOf) as [string, ...string[]];
/** Rounds of sync go on writing; each node is probed once. */
const settings = {
  ACTIONS_SYNC_INTERVAL: '200ms',
  SUPERNODES_SYNC_INTERVAL: '300ms',
  VALIDATORS_SYNC_INTERVAL: '400ms',
  PROBE_INTERVAL: '24h',
};

type Line = Readonly<{ projection: string; generation: number; facts: number }>;

describe('annals replay all over a long log, under readers of every endpoint and with writes going on', () => {
  let stub: ChainStub;
  let program: Program;
  let log: ProgramLog;
  let pollers: Pollers;
  let before: ReadonlyMap<string, string>;
  let eventsBefore = 0;
  let generationsBefore: ReadonlyMap<string, number>;
  let polled: readonly Polled[];
  const replayed: Line[][] = [];
  let written = 0;
  const gaveWay: number[] = [];

  beforeAll(async () => {
    stub = await startChainStub();
    for (const name of nodes) {
      stub.chain.addSuperNode(name);
      stub.chain.addValidator(name);
    }
    stub.chain.block();
    program = await startProgram({ env: { ...settings, CHAIN_API_BASE: stub.url } });
    await program.untilReady();
    log = await openProgramLog(program.instance);
    await until('every node has been probed', async () => (await log.lastOfAll('probe')).size === nodes.length);
    await fill(log);
    await untilFollowed(program.base, log);
    eventsBefore = await eventsIn(log);
    before = await unchanging(program.base);
    generationsBefore = await liveGenerations(program);

    await until('the log of actions is signed beyond its first tile', async () => {
      const answer = await fetch(`${program.base}/log/ACTIONS/tile/0/000`);
      return answer.ok;
    });
    pollers = startPollers(program.base, everyPath(quiet, busy));
    await pollers.further(answersAround);
    const ending = new AbortController();
    const writing = write(log, ending.signal);
    for (let n = 0; n < replays; n++) replayed.push(await replayAll(program, gaveWay));
    await pollers.further(answersAround);
    ending.abort();
    written = await writing;
    polled = await pollers.stop();
    await untilFollowed(program.base, log);
  }, 600_000);
  afterAll(async () => {
    await log?.close();
    await program?.stop();
    await stub?.stop();
  });

  test('every reader is answered as ever: no error, no position and no total that goes back', () => {
    expect(polled.flatMap(({ path, complaints }) => complaints.map((complaint) => `${path}: ${complaint}`))).toEqual(
      [],
    );
    for (const { path, answers, positions } of polled)
      if (path.startsWith('/v1/') && !isOfTheLog(path)) expect(positions, path).toBe(answers);
  });

  test('the readers ask every path of the API document', async () => {
    const { paths } = (await json(`${program.base}/openapi.json`)) as { paths: Record<string, Json> };
    const asked = polled.map(({ path }) => path.replace(/\?.*/, ''));
    const isAsked = (path: string): boolean => {
      const pattern = new RegExp(`^${path.replace(/\{\*\}|\*/g, '.+').replace(/\{\w+\}/g, '[^/]+')}$`);
      return asked.some((one) => pattern.test(one));
    };
    const read = Object.keys(paths).filter((path) => paths[path]?.['get'] !== undefined && path !== '/live');
    expect(read.filter((path) => !isAsked(path))).toEqual([]);
  });

  test('every projection was read from the whole log and switched to a new generation, each time', async () => {
    expect(eventsBefore).toBeGreaterThanOrEqual(leastEvents);
    expect(written).toBeGreaterThan(0);
    for (const lines of replayed) {
      expect(lines.map(({ projection }) => projection)).toEqual([...projectionNames]);
      expect(lines.find(({ projection }) => projection === 'actions')?.facts).toBeGreaterThan(actionCount);
    }
    const now = await liveGenerations(program);
    for (const projection of projectionNames) {
      const made = replayed.map((lines) => lines.find((line) => line.projection === projection)?.generation ?? 0);
      const first = generationsBefore.get(projection) ?? 0;
      expect(made, projection).toEqual(made.map((_, n) => first + n + 1));
      expect(now.get(projection), projection).toBe(made.at(-1));
    }
  });

  test('replay runs where nobody else would, and so do its connections to the database', () => {
    expect(new Set(gaveWay).size).toBe(2 * replays);
  });

  test('what nobody wrote about is answered as before, byte for byte', async () => {
    expect([...(await unchanging(program.base))]).toEqual([...before]);
  });

  test('what was written meanwhile is answered, once each', async () => {
    const { total } = await json(`${program.base}/v1/actions?creator=${lateCreator}&limit=1`);
    expect(total).toBe(written);
    const { total: all } = await json(`${program.base}/v1/actions?limit=1`);
    expect(all).toBe(actionCount + written);
  });
});

/** Fills the log, a stream at a time; each node's last probe and record stay what they were for the chain. */
async function fill(log: ProgramLog): Promise<void> {
  const random = seeded(5);
  const lives = Array.from({ length: actionCount }, (_, at) =>
    lifeOf(random, at + 1, quietAccounts, random.pick(creators)),
  );
  await appendLives(log, lives);
  for (const [at, name] of nodes.entries()) {
    await appendTo(log, 'probe', probesOf(random, operatorOf(name), probesEach, at % 3 > 0));
    await appendTo(log, 'node', await changesOf(log, operatorOf(name), changesEach));
  }
}

async function eventsIn(log: ProgramLog): Promise<number> {
  const heads = await Promise.all(streams.map(async (stream) => (await log.head(stream)).lastSequence));
  return heads.reduce((a, b) => a + b, 0);
}

/**
 * Writes new actions of one creator, done by one node, and probes of that node, until it is enough; gives back how many
 * actions.
 */
async function write(log: ProgramLog, signal: AbortSignal): Promise<number> {
  const random = seeded(6);
  let id = actionCount;
  while (!signal.aborted) {
    const lives = Array.from({ length: 5 }, () => lifeOf(random, ++id, [accountOf(busy)], lateCreator));
    await appendLives(log, lives);
    // One that passes: a node that is away between two answers is one available node less.
    await appendTo(log, 'probe', probesOf(random, operatorOf(busy), 1, true));
    await pause(writeAgainMs);
  }
  return id - actionCount;
}

/** Adds the process and one of its connections; fails when they never give way. */
async function replayAll({ dataDir, instance }: Program, gaveWay: number[]): Promise<Line[]> {
  const { pid, ran: running } = startVerb(dataDir, 'replay', 'all', '--json');
  const client = new pg.Client(instance.postgres);
  await client.connect();
  try {
    gaveWay.push(await givingWay('the replay gives way', async () => [pid]));
    gaveWay.push(await givingWay('its connections give way', () => connectionsOf(client, 'annals replay')));
  } finally {
    await client.end();
  }
  const ran = await running;
  expect(ran, ran.stderr).toMatchObject({ status: 0, stderr: '' });
  return jsonLines(ran) as Line[];
}

/** The first of these processes that has the lowest priority and, on Linux, runs in the idle class. */
async function givingWay(what: string, pids: () => Promise<number[]>): Promise<number> {
  return until(what, async () => {
    const low = (await pids()).filter((pid) => getPriority(pid) === constants.priority.PRIORITY_LOW);
    if (platform() !== 'linux') return low[0];
    const classes = await Promise.all(low.map(schedulingClass));
    return low[classes.indexOf(schedIdle)];
  });
}

const schedIdle = '5';

/** As proc_pid_stat(5) numbers it, field 41; the name before the third field may hold anything. */
async function schedulingClass(pid: number): Promise<string | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return text.slice(text.lastIndexOf(')') + 2).split(' ')[41 - 3];
}

/** Process ids of the connections of an application, whichever of its pools they belong to. */
async function connectionsOf(client: pg.Client, name: string): Promise<number[]> {
  const { rows } = await client.query<{ pid: number }>(
    "select pid from pg_stat_activity where application_name like $1 || ' %'",
    [name],
  );
  return rows.map(({ pid }) => pid);
}

async function liveGenerations({ dataDir }: Program): Promise<ReadonlyMap<string, number>> {
  const [status] = jsonLines(await runVerb(dataDir, 'status', '--json'));
  const all = status?.['projections'] as { projection: string; status: string; generation: number }[];
  return new Map(
    all.filter((one) => one.status === 'live').map(({ projection, generation }) => [projection, generation]),
  );
}

/** Answers that nothing written meanwhile can change, cursors apart, which are sealed anew each time. */
async function unchanging(base: string): Promise<ReadonlyMap<string, string>> {
  const last = heightOf(actionCount);
  const walked = creators.map((creator) => `/v1/actions?creator=${creator}&limit=200&include_transactions=true`);
  const lists = [`/v1/actions?toHeight=${last - 1}&limit=200`, `/v1/actions?supernode=${operatorOf(quiet)}&limit=200`];
  const others = nodes.filter((name) => name !== busy).map(operatorOf);
  const single = [
    ...Array.from({ length: 40 }, (_, n) => `/v1/actions/${1 + n * 349}`),
    ...others.flatMap((id) => [`/v1/supernodes/${id}/metrics`, `/v1/supernodes/${id}/paymentInfo`]),
    '/v1/version/matrix',
  ];
  const answers = new Map<string, string>();
  for (const path of single) answers.set(path, JSON.stringify(await json(`${base}${path}`)));
  for (const path of [...walked, ...lists]) {
    let next = '';
    for (let page = 1; next !== 'none'; page++) {
      const { cursor, ...answer } = await json(`${base}${path}${next}`);
      answers.set(`${path} page ${page}`, JSON.stringify(answer));
      next = typeof cursor === 'string' ? `&cursor=${cursor}` : 'none';
    }
  }
  return answers;
}
