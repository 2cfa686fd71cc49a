import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sources } from '../../src/events/words.ts';
import { streams } from '../../src/events/streams.ts';
import { type ChainStub, startChainStub } from '../support/chain-stub.ts';
import { furtherRequests } from '../support/further-requests.ts';
import { GrowingChain } from '../support/growing-chain.ts';
import { checkActions, checkCounts, checkNodes, checkOnce, type Facts } from '../support/log-checks.ts';
import { until } from '../support/polling.ts';
import { dataFolder } from '../support/program.ts';
import { openProgramLog, untilFollowed } from '../support/program-log.ts';
import { seeded } from '../support/random-history.ts';
import { type Supervised, supervise, type Victim, victims } from '../support/supervised.ts';
import { checkTables, readTables } from '../support/table-checks.ts';
import { trueAnswers, trueFleet, trueList } from '../support/true-answers.ts';

/** How often each of the three is killed; `KILLS` says otherwise. */
const killsOfEach = Number(process.env['KILLS'] ?? 10);
/** Decides what happens on the chain and where the kills fall; `KILLS_SEED` says otherwise. */
const seed = Number(process.env['KILLS_SEED'] ?? 1);
/** So many blocks are there before the first start, so that the first fill is cut off as well. */
const blocksBefore = 60;
const blockEachMs = 150;
const mostRequestsBetween = 60;
const settings = {
  ACTIONS_SYNC_INTERVAL: '100ms',
  SUPERNODES_SYNC_INTERVAL: '200ms',
  VALIDATORS_SYNC_INTERVAL: '300ms',
  PROBE_INTERVAL: '1s',
};

type Json = Readonly<Record<string, unknown>>;

describe('a program whose processes are killed while it follows a chain that goes on', () => {
  let stub: ChainStub;
  let supervised: Supervised;
  let facts: Facts;
  const readiness: { victim: Victim; answers: number[] }[] = [];

  beforeAll(async () => {
    process.stdout.write(`kills of each: ${killsOfEach}, KILLS_SEED=${seed}\n`);
    stub = await startChainStub();
    const growing = new GrowingChain(stub.chain, seeded(seed));
    for (let block = 0; block < blocksBefore; block++) growing.grow();
    const growth = setInterval(() => growing.grow(), blockEachMs);
    try {
      supervised = await supervise({ dataDir: dataFolder(), env: { ...settings, CHAIN_API_BASE: stub.url } });
      const random = seeded(seed + 1);
      for (const victim of shuffled(random.below)) {
        await furtherRequests(stub, 1 + random.below(mostRequestsBetween));
        await pause(random.below(30));
        readiness.push({ victim, answers: await supervised.kill(victim) });
        await untilHealed(supervised, stub);
      }
    } finally {
      clearInterval(growth);
    }
    facts = await factsOnceRead(supervised, stub);
  }, 600_000);
  afterAll(async () => {
    await supervised?.program().stop();
    await stub?.stop();
  });

  test('the log holds exactly the facts of every action that the chain tells of, each once and in order', () => {
    expect(stub.chain.at(stub.chain.height).actions.size).toBeGreaterThan(5 * killsOfEach);
    checkActions(stub.chain, facts, { whole: true });
  });

  test.each(['SuperNode', 'Validator'] as const)('every %s fact is news, and true at its height', (what) => {
    checkNodes(stub.chain, facts, { what, whole: true });
  });

  test('no fact lies in the log twice, and rounds and probes count on from one another', () => {
    checkOnce(facts);
    checkCounts(facts);
  });

  test('the rows of every read model are those of an independent fold of the log', async () => {
    const tables = await readTables(supervised.program().instance);
    facts = await factsOnceRead(supervised, stub);
    checkTables(tables, facts);
  });

  test('every answer of the REST API is what the chain says', async () => {
    const { base } = supervised.program();
    expect(await allPages(base, '/v1/actions?include_transactions=true', 'actions')).toEqual(trueList(stub.chain));
    const fleet = await allPages(base, '/v1/supernodes/metrics?limit=2', 'supernodes');
    expect(fleet.map(({ id, ip, current_state }) => ({ id, ip, current_state }))).toEqual(trueFleet(stub.chain));
    for (const { path, answer } of trueAnswers(stub.chain)) {
      const found = await get(`${base}${path}`);
      expect(Object.fromEntries(Object.keys(answer).map((name) => [name, found[name]])), path).toEqual(answer);
    }
  });

  test('GET /readyz answers 503 as long as the database or the broker is down, and 200 once the program has healed', async () => {
    for (const { victim, answers } of readiness) expect(answers, victim).toEqual(answers.map(() => 503));
    const whileDown = readiness.filter(({ victim }) => victim === 'postgres').flatMap(({ answers }) => answers);
    expect(whileDown).not.toEqual([]);
    expect((await fetch(`${supervised.program().base}/readyz`)).status).toBe(200);
  });
});

/** Every victim as often as any other, in an order that the seed decides. */
function shuffled(below: (bound: number) => number): Victim[] {
  const left = victims.flatMap((victim) => Array.from({ length: killsOfEach }, () => victim));
  return left.map(() => left[0]).flatMap(() => left.splice(below(left.length), 1));
}

/** The program has healed when it says that it is ready and tells of what the chain had registered when it fell. */
async function untilHealed(supervised: Supervised, { chain }: ChainStub): Promise<void> {
  const program = supervised.program();
  const registered = chain.at(chain.height).actions.size;
  const ended = program.exited.then((status) => {
    throw new Error(`The program ended by itself with status ${status}: ${JSON.stringify(program.log.slice(-5))}`);
  });
  const healed = async (): Promise<void> => {
    await program.untilReady();
    const knows = async (): Promise<boolean> =>
      Number((await get(`${program.base}/v1/actions?limit=1`))['total']) >= registered;
    await until(`the program knows ${registered} actions`, knows);
  };
  await Promise.race([healed(), ended]);
}

/** All facts, once a round of every source has read the chain to its head and the read models have followed. */
async function factsOnceRead(supervised: Supervised, { chain }: ChainStub): Promise<Facts> {
  const { instance, base } = supervised.program();
  const log = await openProgramLog(instance);
  try {
    await until('every source has been read to the head', async () => {
      const last = [...(await log.last('sync', sources)).values()].map(({ fact }) => fact);
      return (
        last.length === sources.length &&
        last.every(({ type, data }) => type === 'SyncRoundCompleted' && data.height === chain.height)
      );
    });
    await untilFollowed(base, log);
    const read = await Promise.all(streams.map(async (stream) => [stream, await log.factsOf(stream)] as const));
    return Object.fromEntries(read) as Facts;
  } finally {
    await log.close();
  }
}

async function get(url: string): Promise<Json> {
  const response = await fetch(url);
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as Json;
}

/** All pages of a list. */
async function allPages(base: string, path: string, field: string): Promise<Json[]> {
  const all: Json[] = [];
  for (let cursor = ''; ;) {
    const page = await get(`${base}${path}${cursor}`);
    all.push(...(page[field] as Json[]));
    if (typeof page['cursor'] !== 'string') return all;
    cursor = `&cursor=${page['cursor']}`;
  }
}
