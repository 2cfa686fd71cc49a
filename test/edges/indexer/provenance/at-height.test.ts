import { afterAll, beforeAll, expect, it } from 'vitest';
import { catalogue, entityOf, type Fact, type FactOf } from '../../../../src/events/catalogue.ts';
import { factsUpTo } from '../../../../src/projections/actions/height/at-height.ts';
import { actionFacts, timeOf, transactionAt } from '../../../support/histories/facts.ts';
import { accounts, creators, hashes, operators, randomHistory } from '../../../support/histories/random-history.ts';
import { type RestServer, startRest } from '../rest/rest-server.ts';
import { address, round } from '../rest/sample.ts';

type ActionFact = FactOf<'action'>;

const isAction = (fact: Fact): fact is ActionFact => catalogue[fact.type].kind === 'action';
const nameOf = (name: string) => addresses.get(name) ?? '';
const addresses = new Map<string, string>([
  ...operators.map((name, at) => [name, address('lumeravaloper', 10 + at)] as const),
  ...[...accounts, ...creators].map((name, at) => [name, address('lumera', 30 + at)] as const),
]);
const named = new RegExp(`"(${[...addresses.keys()].join('|')})"`, 'g');
const all = (
  JSON.parse(
    JSON.stringify(randomHistory(11, { actions: 120 })).replace(named, (_, name: string) => `"${nameOf(name)}"`),
  ) as Fact[]
)
  .filter(({ type }) => !type.startsWith('SyncRound'))
  .map((fact) =>
    isAction(fact) ? ({ ...fact, data: { ...fact.data, action: apart(fact.data.action) } } as Fact) : fact,
  );
/** Ids that lie apart, so that some blocks of them are settled at a height and others are not. */
function apart(id: string): string {
  return String(BigInt(id) * 700n);
}
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
const exact = lives.filter((life) => life.every((fact) => ownHeight(fact) !== undefined));
const rounds = [round('actions', readTo, timeOf(90)), round('supernodes', readTo, timeOf(90))];

/** Lists with every filter and pairs of them, counts with and without windows, payments. */
const states = ['', 'state=registered', 'state=finalized', 'state=approved'];
const others = [
  '',
  'type=cascade',
  `creator=${nameOf('creator1')}`,
  `supernode=${nameOf('acc3')}`,
  `supernode=${nameOf('op-B')}`,
  `type=sense&supernode=${nameOf('op-a')}`,
  `creator=${nameOf('acc0')}&supernode=${nameOf('acc1')}`,
  'fromHeight=9000&toHeight=31000',
  `dataHash=${encodeURIComponent(hashes[2] ?? '')}`,
  `toHeight=20000&supernode=${nameOf('op-Z')}`,
];
const windows = ['', 'type=sense', `from=${timeOf(5000)}`, `type=cascade&from=${timeOf(9000)}&to=${timeOf(40_000)}`];
const paths = [
  ...states.flatMap((state) => others.map((other) => `/v1/actions?limit=25&include_transactions=1&${state}&${other}`)),
  ...windows.map((window) => `/v1/actions/stats?${window}`),
  '/v1/supernodes/action-stats?',
  ...operators.map((operator) => `/v1/supernodes/${nameOf(operator)}/paymentInfo?`),
].map((path) => path.replace(/&+/g, '&').replace(/&$/, '').replace('?&', '?'));

/** All pages of a path, without their cursors. */
async function walked(server: RestServer, path: string, also?: string): Promise<unknown[]> {
  const pages: unknown[] = [];
  const first = also === undefined ? path : `${path}&${also}`;
  for (let next: string | undefined = first; next !== undefined;) {
    const { status, body } = await server.get(next.replace('?&', '?'));
    const { cursor, error: _, ...page } = body;
    pages.push([status, page]);
    next = typeof cursor === 'string' ? `${first}&cursor=${cursor}` : undefined;
  }
  return pages;
}

let rest: RestServer;
beforeAll(async () => void (rest = await startRest([...nodes, ...lives.flat(), ...rounds])));
afterAll(async () => await rest.close());

it('GET … ?at_height= shows what a fold of the facts up to that height shows: actions, lists, counts, payments', async () => {
  expect(exact.length).toBeGreaterThan(30);
  const clear = await startRest([...nodes, ...rounds, ...exact.flat()]);
  const matched = new Set<string>();
  for (const share of [0.3, 0.7, 1]) {
    const height = Math.max(1, heights[Math.floor((heights.length - 1) * share)] ?? 0);
    const then = await startRest([...nodes, ...exact.flatMap((life) => upTo(life, height))]);
    for (const [first] of exact) {
      const id = first ? entityOf(first) : '';
      const [shown, folded] = [await rest.get(atHeight(id, height)), await then.get(`/v1/actions/${id}`)];
      expect([id, height, shown.status]).toEqual([id, height, folded.status]);
      if (shown.status === 200) expect([id, shown.body]).toEqual([id, folded.body]);
    }
    for (const path of paths) {
      const [shown, folded] = [await walked(clear, path, `at_height=${height}`), await walked(then, path)];
      expect([path, height, shown]).toEqual([path, height, folded]);
      matched.add(`${path} ${JSON.stringify(shown).includes('"total":0') ? 'none' : 'some'}`);
    }
    await then.close();
  }
  await clear.close();
  expect([...matched].filter((one) => one.endsWith('some')).length, 'not of empty lists').toBeGreaterThan(30);
});

it('GET … ?at_height=…&as_of= shows what was known of a height at a position of the log', async () => {
  const facts = exact.flat();
  const known = Math.floor(facts.length / 2);
  const height = heights[Math.floor(heights.length / 2)] ?? 0;
  const clear = await startRest([...nodes, ...rounds, ...facts]);
  const then = await startRest([...nodes, ...rounds, ...facts.slice(0, known)]);
  const asOf = `at_height=${height}&as_of=ACTIONS:${nodes.length + rounds.length + known}`;
  for (const path of paths)
    expect([path, await walked(clear, path, asOf)]).toEqual([path, await walked(then, path, `at_height=${height}`)]);
  await Promise.all([clear.close(), then.close()]);
});

it('GET /v1/actions/{id}?at_height= is refused where nothing tells, and beyond what was read of the chain', async () => {
  const known = Object.keys(lives).map((at) => lives[Number(at)] ?? []);
  const unclear = known.find((life) => life[0] && ownHeight(life[0]) === undefined && life.length === 1);
  const step = known.find((life) => life.some((fact) => fact.type === 'ActionApproved' && !fact.data.transaction));
  const [id = '', other = ''] = [unclear, step].map((life) => (life?.[0] ? entityOf(life[0]) : ''));
  for (const one of [id, other].filter((name) => name !== ''))
    expect(await rest.get(atHeight(one, readTo))).toMatchObject({ status: 409, body: { code: 'HEIGHT_UNKNOWN' } });
  expect(other).not.toBe('');
  for (const path of ['/v1/actions?state=approved&', '/v1/actions/stats?', '/v1/actions?'])
    expect([path, await rest.get(`${path}at_height=${readTo}`)]).toMatchObject([
      path,
      { status: 409, body: { code: 'HEIGHT_UNKNOWN' } },
    ]);
  expect(await rest.get(`/v1/actions?at_height=${readTo + 1}`)).toMatchObject({ body: { code: 'BEYOND_HEAD' } });
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

it('GET /v1/supernodes/records?at_height= shows what the chain alone states', async () => {
  const metrics = (await rest.get('/v1/supernodes/metrics')).body.supernodes as Record<string, unknown>[];
  const chainOf = ({ id, ip, rank, current_state }: Record<string, unknown>) => {
    return { id, ip, rank, current_state, registered_height: null };
  };
  const then = `at_height=${readTo}`;
  const list = await rest.get(`/v1/supernodes/records?${then}`);
  const shown = { height: readTo, supernodes: metrics.map(chainOf), total: metrics.length };
  expect([list.status, list.body]).toEqual([200, shown]);
  expect((await rest.get('/v1/supernodes/records')).body, 'without a height: the one that was read last').toEqual(
    shown,
  );
  const [first] = metrics;
  const id = String(first?.id);
  expect((await rest.get(`/v1/supernodes/${id}/record?${then}`)).body).toEqual(chainOf(first ?? {}));
  const idsIn = (pages: readonly unknown[]) => JSON.stringify(pages).match(/lumeravaloper1\w+/g);
  for (const state of ['active', 'stopped', 'postponed']) {
    const pages = await walked(rest, '/v1/supernodes/records?limit=1', `${then}&state=${state}`);
    const plain = await walked(rest, '/v1/supernodes/metrics?limit=1', `currentState=${state}`);
    expect([state, idsIn(pages)]).toEqual([state, idsIn(plain)]);
  }
  const refused = [
    ['records?at_height=5', 409, 'HEIGHT_UNKNOWN'],
    [`records?at_height=${readTo + 1}`, 400, 'BEYOND_HEAD'],
    ['records?at_height=0', 400, 'INVALID_ARGUMENT'],
    [`nobody/record?${then}`, 404, 'NOT_FOUND'],
    [`${id}/paymentInfo?at_height=${readTo + 1}`, 400, 'BEYOND_HEAD'],
    [`action-stats?${then}`, 409, 'HEIGHT_UNKNOWN'],
  ] as const;
  for (const [path, status, code] of refused)
    expect([path, await rest.get(`/v1/supernodes/${path}`)]).toMatchObject([path, { status, body: { code } }]);
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
