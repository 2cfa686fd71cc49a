import { afterAll, beforeAll, expect, it } from 'vitest';
import { catalogue, entityOf, type Fact, type FactOf } from '../../../../src/events/catalogue.ts';
import { factsUpTo } from '../../../../src/projections/actions/at-height.ts';
import { actionFacts, timeOf, transactionAt } from '../../../support/histories/facts.ts';
import { randomHistory } from '../../../support/histories/random-history.ts';
import { type RestServer, startRest } from '../rest/rest-server.ts';
import { round } from '../rest/sample.ts';

type ActionFact = FactOf<'action'>;

const isAction = (fact: Fact): fact is ActionFact => catalogue[fact.type].kind === 'action';
const all = randomHistory(11, { actions: 120 }).filter(({ type }) => !type.startsWith('SyncRound'));
const nodes = all.filter((fact) => !isAction(fact));
const lives = [...Map.groupBy(all.filter(isAction), entityOf).values()].map(carriedOn);
const readTo = 1_000_000;

/** As deciders write it: a late transaction carries on the state that was known; nothing expires unregistered. */
function carriedOn(life: readonly ActionFact[]): readonly ActionFact[] {
  let known = life[0]?.data.known;
  return life.map((fact) => {
    if (fact.type !== 'ActionTransactionFound') known = fact.data.known;
    const seen = fact.type === 'ActionExpired' ? { seenAtHeight: 50 + (life[0] ? (ownHeight(life[0]) ?? 0) : 0) } : {};
    return { ...fact, data: { ...fact.data, ...seen, known } } as ActionFact;
  });
}

/** What one fact says of when it happened; undefined where it says nothing. */
function ownHeight({ data }: ActionFact): number | undefined {
  if ('seenAtHeight' in data) return data.seenAtHeight;
  return ('height' in data ? data.height : undefined) ?? ('transaction' in data ? data.transaction?.height : undefined);
}

/** The facts of a life up to a height, where each of them says when it happened. */
const upTo = (life: readonly ActionFact[], height: number): readonly ActionFact[] =>
  carriedOn(life.filter((fact) => (ownHeight(fact) ?? Infinity) <= height));

const heights = [...new Set(lives.flat().map(ownHeight))].filter((one) => one !== undefined).toSorted((a, b) => a - b);
const atHeight = (id: string, height: number) => `/v1/actions/${id}?at_height=${height}`;
let rest: RestServer;
beforeAll(async () => void (rest = await startRest([...nodes, ...lives.flat(), round('actions', readTo, timeOf(90))])));
afterAll(async () => await rest.close());

it('GET /v1/actions/{id}?at_height= shows what a fold of the facts up to that height shows', async () => {
  const exact = lives.filter((life) => life.every((fact) => ownHeight(fact) !== undefined));
  expect(exact.length).toBeGreaterThan(30);
  for (const share of [0.2, 0.5, 0.8, 1]) {
    const height = Math.max(1, heights[Math.floor((heights.length - 1) * share)] ?? 0);
    const then = await startRest([...nodes, ...exact.flatMap((life) => upTo(life, height))]);
    for (const [first] of exact) {
      const id = first ? entityOf(first) : '';
      const [shown, folded] = [await rest.get(atHeight(id, height)), await then.get(`/v1/actions/${id}`)];
      expect([id, height, shown.status]).toEqual([id, height, folded.status]);
      if (shown.status === 200) expect([id, shown.body]).toEqual([id, folded.body]);
    }
    await then.close();
  }
});

it('GET /v1/actions/{id}?at_height= is refused where nothing tells, and beyond what was read of the chain', async () => {
  const known = Object.keys(lives).map((at) => lives[Number(at)] ?? []);
  const unclear = known.find((life) => life[0] && ownHeight(life[0]) === undefined && life.length === 1);
  const step = known.find((life) => life.some((fact) => fact.type === 'ActionApproved' && !fact.data.transaction));
  const [id = '', other = ''] = [unclear, step].map((life) => (life?.[0] ? entityOf(life[0]) : ''));
  for (const one of [id, other].filter((name) => name !== ''))
    expect(await rest.get(atHeight(one, readTo))).toMatchObject({ status: 409, body: { code: 'HEIGHT_UNKNOWN' } });
  expect(other).not.toBe('');
  expect(await rest.get(atHeight(other, readTo + 1))).toMatchObject({ status: 400, body: { code: 'BEYOND_HEAD' } });
  for (const wrong of [
    'at_height=0',
    'at_height=x',
    'at_height=5&explain=true',
    'at_height=5&as_of=ACTIONS:1&diff=ACTIONS:2',
  ])
    expect([wrong, await rest.get(`/v1/actions/${other}?${wrong}`)]).toMatchObject([
      wrong,
      { status: 400, body: { code: 'INVALID_ARGUMENT' } },
    ]);
  expect(await rest.get(atHeight('123456789', 5))).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
});

it('factsUpTo puts a step without a transaction between its neighbours, and keeps no later state', () => {
  const { registered, finalized, approved, expired, found } = actionFacts('7');
  const life = [
    registered({ transaction: transactionAt(5), height: 5 }),
    expired(50),
    finalized({ transaction: transactionAt(20), accounts: ['late'] }),
    approved(),
    found('finalize', { transaction: transactionAt(10), accounts: ['early'] }),
  ];
  const at = (facts: readonly ActionFact[], height: number) =>
    factsUpTo(facts, height)?.map(({ type, data: { known } }) => [type, known.chainState]);
  expect(at(life, 4)).toEqual([]);
  expect(at(life, 9)).toEqual([['ActionRegistered', 'pending']]);
  expect(at(life, 10), 'nothing tells when it was approved').toBeUndefined();
  const whole = life.map((fact) =>
    fact.type === 'ActionApproved' ? approved({ transaction: transactionAt(30) }) : fact,
  );
  expect(at(whole, 15)).toEqual([
    ['ActionRegistered', 'pending'],
    ['ActionFinalized', 'done'],
    ['ActionTransactionFound', 'done'],
  ]);
  const early = factsUpTo(whole, 15)?.find(({ type }) => type === 'ActionFinalized');
  expect(early?.data).toMatchObject({ accounts: [] });
  expect(early?.data).not.toHaveProperty('transaction');
  expect(at(whole, 30)?.at(-1)).toEqual(['ActionTransactionFound', 'approved']);
  const between = [registered({ height: 5 }), finalized(), approved({ transaction: transactionAt(30) })];
  expect(at(between, 30)?.length).toBe(3);
  expect(at(between, 29)).toBeUndefined();
});
