import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { faultsOf, type SignedNote, signedNotes } from '../edges/indexer/proof/signed-notes.ts';
import { type Field, openField } from '../support/field/field.ts';
import { moments } from '../support/field/moments.ts';
import { until } from '../support/polling.ts';
import { dataFolder } from '../support/programs/program.ts';
import { seeded } from '../support/histories/random-history.ts';
import { type Victim, victims } from '../support/programs/supervised.ts';
import { trueAnswers, trueFleet, trueList } from '../support/expected/true-answers.ts';

const { KILLS, KILLS_SEED } = process.env;
/** How often each of the three is killed; `KILLS` sets another number. */
const killsOfEach = Number(KILLS ?? 10);
/** Decides what happens on the chain and where the kills fall; `KILLS_SEED` sets another one. */
const seed = Number(KILLS_SEED ?? 1);
/** What a kill falls into: of a long run also probes, replays and their switches, which take longer to come about. */
const chosen = KILLS === undefined ? (['sync'] as const) : moments;
/** A chain of two thousand blocks takes long to compare: so many kills later another program follows another chain. */
const killsOfField = 30;

type Json = Readonly<Record<string, unknown>>;

const victimsInTurn = shuffled(seeded(seed + 1).below);
const fields = Array.from({ length: Math.ceil(victimsInTurn.length / killsOfField) }, (_, at) => at);

describe.each(fields)('a program whose processes are killed while it follows a chain that goes on, %i', (at) => {
  let field: Field;
  const readiness: { victim: Victim; answers: number[] }[] = [];
  const notes: SignedNote[] = [];

  beforeAll(async () => {
    process.stdout.write(`kills of each: ${killsOfEach}, KILLS_SEED=${seed}\n`);
    field = await openField({ seed: seed + at, dataDir: dataFolder(), env: { CHECKPOINT_INTERVAL: '250ms' } });
    for (const victim of victimsInTurn.slice(at * killsOfField, (at + 1) * killsOfField)) {
      const moment = chosen[field.random.below(chosen.length)] ?? 'sync';
      const over = await field.moment(moment);
      readiness.push({ victim, answers: await field.supervised.kill(victim) });
      await over();
      await field.untilHealed();
      notes.push(...(await signedNotes(field.supervised.program().base)));
      // What is wrong shows at the end as well; a long run names the kill that it came of.
      if (KILLS !== undefined)
        await field.look().catch((caught: unknown) => {
          throw new Error(`${victim} was killed during ${moment}`, { cause: caught });
        });
    }
  }, 1_800_000);
  afterAll(async () => {
    await field?.close();
  });

  test('log and read models hold all that the chain tells of and all that was acknowledged, each once', async () => {
    await field.judge({ staysStill: true });
    const { chain } = field.stub;
    expect(chain.at(chain.height).actions.size).toBeGreaterThan(readiness.length);
  }, 600_000);

  test('every checkpoint that was signed between kills is a beginning of the signed log', async () => {
    const { base } = field.supervised.program();
    const last = await until('checkpoints are signed', async () => {
      const signed = await signedNotes(base);
      return ['ACTIONS', 'NODES'].every((name) => signed.some(({ stream }) => stream === name)) && signed;
    });
    notes.push(...last);
    expect(notes.filter(({ stream }) => stream === 'ACTIONS').length).toBeGreaterThan(readiness.length / 2);
    expect(await faultsOf(base, notes)).toEqual([]);
  });

  test('every answer of the REST API is what the chain says', async () => {
    const { base } = field.supervised.program();
    const { chain } = field.stub;
    expect(await allPages(base, '/v1/actions?include_transactions=true', 'actions')).toEqual(trueList(chain));
    const fleet = await allPages(base, '/v1/supernodes/metrics?limit=2', 'supernodes');
    expect(fleet.map(({ id, ip, current_state }) => ({ id, ip, current_state }))).toEqual(trueFleet(chain));
    for (const { path, answer } of trueAnswers(chain)) {
      const found = await get(`${base}${path}`);
      expect(Object.fromEntries(Object.keys(answer).map((name) => [name, found[name]])), path).toEqual(answer);
    }
  }, 600_000);

  test('GET /readyz answers 503 as long as the database or the broker is down, and 200 once the program has healed', async () => {
    for (const { victim, answers } of readiness) expect(answers, victim).toEqual(answers.map(() => 503));
    const whileDown = readiness.filter(({ victim }) => victim === 'postgres').flatMap(({ answers }) => answers);
    expect(whileDown).not.toEqual([]);
    expect((await fetch(`${field.supervised.program().base}/readyz`)).status).toBe(200);
  });
});

/** Every victim as often as any other, in an order that the seed decides. */
function shuffled(below: (bound: number) => number): Victim[] {
  const left = victims.flatMap((victim) => Array.from({ length: killsOfEach }, () => victim));
  return left.map(() => left[0]).flatMap(() => left.splice(below(left.length), 1));
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
