import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Recorded } from '../../src/commands/ports.ts';
import { until } from '../support/polling.ts';
import { type Expectations, type ExpectedStep, actionsAt } from '../support/chains/recorded-expectations.ts';
import { detailAt, listItemAt, readExpectations, readTopList } from '../support/chains/recorded-expectations.ts';
import * as figures from '../support/chains/recorded-figures.ts';
import { happenedIn, recordsIn, transactionsIn, transactionsOf } from '../support/expected/told-by-facts.ts';
import { type Indexing, type Json, startIndexing } from './indexing.ts';

const expected: Expectations = readExpectations();
const last = lastOf(expected.steps);
let indexing: Indexing;
const read = { ACTIONS: 0, NODES: 0 };

beforeAll(async () => (indexing = await startIndexing(1)));
afterAll(async () => indexing?.close());

describe('the program over the recorded chain', () => {
  test.each([...expected.steps])(
    'knows all of step $step: $what',
    { tags: ['S2.service.sync', 'S2.actions.total', 'S2.open.nodes.tracked', 'S2.open.nodes.paymentInfo'] },
    async (step) => {
      await indexing.goTo(step.step);
      const [ofActions, ofNodes] = await newFacts();
      expectTransitions(step, ofActions);
      expectRecords(step, ofNodes);
      await expectActions(step);
      await expectFleet(step);
      await expectEarnings(step);
    },
  );

  test(
    'shows every action with all its fields',
    { tags: ['S2.detail.list-fields', 'S2.open.actions.detail'] },
    async () => {
      for (const action of expected.actions)
        expect(await indexing.get(`/v1/actions/${action.id}`)).toMatchObject(detailAt(action, last));
    },
  );

  test(
    'finds actions by who finalized them',
    { tags: ['S2.actions.supernode', 'S2.open.actions.supernode'] },
    async () => {
      const finalized = { ...expected.finalized_by_account, ...expected.finalized_by_operator };
      for (const [address, count] of Object.entries(finalized))
        expect(await indexing.get(`/v1/actions?limit=1&supernode=${address}`), address).toMatchObject({ total: count });
    },
  );

  test(
    'adds up payments as the whole chain does',
    { tags: ['S2.payment.total_amount', 'S2.payment.payment_count'] },
    async () => {
      for (const { owner, denom, total_amount, transactions } of expected.payments_by_operator)
        expect(await indexing.get(`/v1/supernodes/${owner}/paymentInfo`)).toEqual({
          id: owner,
          payments: [{ denom, total_amount, payment_count: transactions }],
        });
    },
  );

  test(
    'tells apart what two actions earned in one transaction',
    { tags: ['S2.open.nodes.payments-msg_index'] },
    async () => {
      const facts = (await indexing.log.factsOf('ACTIONS')).map(({ fact }) => fact);
      const paid = facts.flatMap((fact) => (fact.type === 'ActionFinalized' ? [fact.data] : []));
      const byTransaction = Map.groupBy(paid, ({ transaction }) => transaction?.hash);
      const shared = [...byTransaction.values()].filter((group) => group.length > 1);
      const told = shared.map((group) => group.map(({ action, payments }) => [action, amountsOf(payments)]));
      const wanted = ({ action }: { action: string }) => expected.actions.find(({ id }) => id === action);
      const counted = shared.map((group) =>
        group.map((one) => [one.action, amountsOf([...(wanted(one)?.payments ?? []), ...(wanted(one)?.pool ?? [])])]),
      );
      expect(told).toEqual(counted);
      expect(shared.length).toBeGreaterThan(0);
    },
  );

  test('appends nothing but the rounds while the chain stands still', { tags: ['S2.open.nodes.rounds'] }, async () => {
    const { log, goTo } = indexing;
    const heads = () => Promise.all([log.head('ACTIONS'), log.head('NODES')]);
    const [before, { lastSequence }] = await Promise.all([heads(), log.head('SYNC')]);
    await until('more rounds have completed', async () => (await log.head('SYNC')).lastSequence >= lastSequence + 9);
    const rounds = (await log.factsOf('SYNC', lastSequence)).map(({ fact }) => fact);
    expect(rounds.map(({ type }) => type)).toEqual(rounds.map(() => 'SyncRoundCompleted'));
    for (const { data } of rounds) expect(data).toMatchObject({ height: last.height, facts: 0, skipped: [] });
    await goTo(last.step);
    expect(await heads()).toEqual(before);
  });

  test(
    'ranks SuperNodes by the chain’s own top list',
    { tags: ['S2.metrics.rank', 'S2.open.nodes.rank'] },
    async () => {
      const ranked = (await nodesShown()).filter(({ rank }) => rank !== null);
      const places = new Map(ranked.map(({ rank, id }) => [rank, id]));
      expect(places).toEqual(new Map(readTopList(last.height).map((id, index) => [index + 1, id])));
    },
  );

  test(
    'tells the same of every action where it meets the chain only at its end',
    { tags: ['S2.open.actions.data_hash-history'] },
    async () => {
      const detailsOf = ({ get }: Indexing) => Promise.all(expected.actions.map(({ id }) => get(`/v1/actions/${id}`)));
      const followed = await detailsOf(indexing);
      await indexing.close();
      indexing = await startIndexing(last.step);
      await indexing.goTo(last.step);
      expect(await detailsOf(indexing)).toEqual(followed);
      const way = expected.actions.map(({ id }) => [id, expected.steps.flatMap((step) => happenedTo(id, step))]);
      expect(happenedIn(await indexing.log.factsOf('ACTIONS'))).toEqual(Object.fromEntries(way));
      await expectActions(last);
      await expectFleet(last);
      await expectEarnings(last);
    },
  );
});

/** What the log tells of actions, and of SuperNodes and validators, since it was looked at last. */
async function newFacts(): Promise<[readonly Recorded[], readonly Recorded[]]> {
  const { log } = indexing;
  const [actions, nodes] = await Promise.all([log.factsOf('ACTIONS', read.ACTIONS), log.factsOf('NODES', read.NODES)]);
  read.ACTIONS += actions.length;
  read.NODES += nodes.length;
  return [actions, nodes];
}

/** The log tells every transition since the step before once, in order, with its transaction and who was paid. */
function expectTransitions({ transitions }: ExpectedStep, facts: readonly Recorded[]): void {
  expect(happenedIn(facts)).toEqual(Object.fromEntries(transitions.map(({ action, happened }) => [action, happened])));
  expect(transactionsIn(facts)).toEqual(transactionsOf(expected.actions, transitions));
}

/** The log tells of every SuperNode and validator that differs, once. */
function expectRecords(step: ExpectedStep, facts: readonly Recorded[]): void {
  const before = expected.steps.findLast((one) => one.step < step.step);
  const nodes = recordsIn(facts, 'node');
  const validators = recordsIn(facts, 'validator');
  expect(Object.fromEntries(nodes)).toEqual(figures.differing(step.supernodes, before?.supernodes));
  expect(Object.fromEntries(validators)).toEqual(figures.differing(step.validators, before?.validators));
  expect(new Set(facts.map(({ fact }) => JSON.stringify(fact))).size).toBe(nodes.length + validators.length);
}

async function expectActions(step: ExpectedStep): Promise<void> {
  const { actions } = await indexing.get('/v1/actions?limit=200&include_transactions=true');
  expect(actions).toEqual(actionsAt(expected, step).map((action) => listItemAt(action, step)));
  for (const [query, total] of figures.totalsAt(step))
    expect(await indexing.get(`/v1/actions?limit=1&${query}`), query).toMatchObject({ total });
  expect(await indexing.get('/v1/actions/stats')).toEqual(figures.countsAt(step));
}

async function expectFleet(step: ExpectedStep): Promise<void> {
  const shown = (await nodesShown()).map(({ id, ip, current_state: state }) => ({ id, ip, state }));
  expect(shown).toEqual(step.supernodes.map(({ id, ip, state }) => ({ id, ip, state })));
  for (const [state, ids] of figures.nodesByCurrentState(step))
    expect(
      (await nodesShown(`currentState=${state}`)).map(({ id }) => id),
      state,
    ).toEqual(ids);
}

async function expectEarnings(step: ExpectedStep): Promise<void> {
  const { supernodes } = await indexing.get('/v1/supernodes/action-stats');
  expect(supernodes).toEqual(step.supernodes.map(({ id }) => figures.finalizedAt(expected, step, id)));
  for (const { id } of step.supernodes) {
    const payments = figures.earnedAt(expected, step, id);
    expect(await indexing.get(`/v1/supernodes/${id}/paymentInfo`)).toEqual({ id, payments });
  }
}

async function nodesShown(query = ''): Promise<readonly Json[]> {
  const { supernodes } = await indexing.get(`/v1/supernodes/metrics?limit=200&${query}`);
  return supernodes as readonly Json[];
}

function amountsOf(payments: readonly Readonly<{ account: string; denom: string; amount: string }>[]): string[] {
  return payments.map(({ account, denom, amount }) => `${amount} ${denom} to ${account}`).toSorted();
}

function happenedTo(id: string, { transitions }: ExpectedStep): readonly string[] {
  return transitions.find(({ action }) => action === id)?.happened ?? [];
}

function lastOf<T>(list: readonly T[]): T {
  const found = list.at(-1);
  if (found === undefined) throw new Error('The expectations hold no step');
  return found;
}
