import { expect, it, onTestFinished } from 'vitest';
import { countTrips } from '../../../engine/models/engine.ts';
import { actionFacts } from '../../../support/histories/facts.ts';
import { startMovingWorld } from './moving-world.ts';

const [count, firstId, idsApart] = [2200, 20_000, 4];
const registered = (id: number) => actionFacts(String(id)).registered();

it('a page of the past takes one trip, and counts no action of a smaller id that came after it', async () => {
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
  expect(trips() - before).toBe(1);
  append(registered(5));
  for (const filter of ['state=registered', 'type=cascade', 'fromHeight=0', 'limit=2'])
    expect([filter, await total(1100, filter)]).toEqual([filter, 1100]);
  expect(await total(count + 1, 'limit=2')).toBe(count + 1);
});
