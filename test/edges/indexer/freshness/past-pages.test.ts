import { expect, it, onTestFinished } from 'vitest';
import { countTrips, tripsOfTransaction } from '../../../engine/models/engine.ts';
import type { Fact } from '../../../../src/events/catalogue.ts';
import { actionFacts, nodeFacts } from '../../../support/histories/facts.ts';
import { addressOf, operator } from './mixed-history.ts';
import { startMovingWorld } from './moving-world.ts';

const [count, firstId, idsApart] = [2200, 20_000, 4];
const registered = (id: number) => actionFacts(String(id)).registered();

it('a page of the past takes one trip beside those of its transaction, and counts no action of a smaller id that came after it', async () => {
  const { rest, database, append, token, close } = await startMovingWorld();
  onTestFinished(close);
  append(...Array.from({ length: count }, (_, at) => registered(firstId + at * idsApart)));
  const trips = countTrips(database.pools);
  const total = async (position: number, more: string): Promise<unknown> => {
    const headers = { prefer: 'wait=10', 'annals-position': token('ACTIONS') };
    const { body } = await rest.get(`/v1/actions?as_of=ACTIONS:${position}&${more}`, { headers });
    return body.total;
  };
  expect(await total(1100, 'limit=1')).toBe(1100);
  const before = trips();
  expect(await total(1300, 'limit=1')).toBe(1300);
  expect(trips() - before).toBe(tripsOfTransaction + 1);
  append(registered(5));
  for (const filter of ['state=registered', 'type=cascade', 'fromHeight=0', 'limit=2'])
    expect([filter, await total(1100, filter)]).toEqual([filter, 1100]);
  expect(await total(count + 1, 'limit=2')).toBe(count + 1);
});

it('a page of a SuperNode takes one trip where its accounts of then were read before, and follows their changes', async () => {
  const { rest, database, append, token, close } = await startMovingWorld();
  onTestFinished(close);
  const trips = countTrips(database.pools);
  const [first, second] = [addressOf('lumera', 'account 1'), addressOf('lumera', 'account 2')] as const;
  const finalized = (id: number, account = '') => [
    registered(id),
    actionFacts(String(id)).finalized({ accounts: [account] }),
  ];
  const instants: string[] = [];
  const reached = (...facts: Fact[]): void => {
    append(...facts);
    instants.push(token('ACTIONS', 'NODES'));
  };
  reached(nodeFacts(operator).listed({ account: first }), ...finalized(1, first));
  reached(...finalized(2, first), ...finalized(3, second));
  reached(nodeFacts(operator).changed({ account: second }));
  const headers = { prefer: 'wait=10', 'annals-position': token('ACTIONS', 'NODES') };
  const totals = async (limit: number, of: readonly string[]): Promise<unknown[]> => {
    const all: unknown[] = [];
    for (const instant of of) {
      const path = `/v1/actions?supernode=${operator}&as_of=${instant}&limit=${limit}`;
      all.push((await rest.get(path, { headers })).body.total);
    }
    return all;
  };
  expect(await totals(1, instants)).toEqual([1, 2, 1]);
  const before = trips();
  // The ids within the heights of an account that was given away are read beside them.
  expect(await totals(2, instants.slice(0, 2))).toEqual([1, 2]);
  expect(trips() - before).toBe(2 * (tripsOfTransaction + 1));
  expect(await totals(2, instants.slice(2))).toEqual([1]);
});
