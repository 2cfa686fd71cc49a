import { expect, it } from 'vitest';
import type { ChainClient, ChainSession } from '../../../src/edges/chain/rest/client.ts';
import { createGuests } from '../../../src/edges/node/guests.ts';

/** A chain that knows one account, and answers when it is let. */
function chainUnderTest() {
  const asked: string[] = [];
  const gate = { open: Promise.resolve() };
  const find: ChainSession['find'] = async (route) => {
    asked.push(route);
    await gate.open;
    return route.endsWith('/known') ? ({ body: {} } as Awaited<ReturnType<ChainSession['find']>>) : undefined;
  };
  const client = { session: () => ({ find }) } as unknown as ChainClient;
  return { client, asked, gate };
}

const point = new Uint8Array(33);

it('accounts are looked up once, unknown ones again after a while', { tags: ['S1.hostile.guests'] }, async () => {
  const { client, asked } = chainUnderTest();
  let nowMs = 0;
  const isWelcome = createGuests(client, () => nowMs);
  const both = async () => [
    await isWelcome({ address: 'known', type: 'client', point }),
    await isWelcome({ address: 'nobody', type: 'client', point }),
  ];
  for (let time = 0; time < 5; time += 1) expect(await both()).toEqual([true, false]);
  expect(asked).toHaveLength(2);
  nowMs = 11_000;
  expect(await both()).toEqual([true, false]);
  expect(asked).toHaveLength(3);
});

it('of many strangers two are looked up at once, and some wait', { tags: ['S1.hostile.guests'] }, async () => {
  const { client, asked, gate } = chainUnderTest();
  const opening = Promise.withResolvers<void>();
  gate.open = opening.promise;
  const isWelcome = createGuests(client);
  const answers = Array.from(
    { length: 500 },
    async (_, index) => await isWelcome({ address: `stranger ${index}`, type: 'client', point }).catch(() => 'refused'),
  );
  await new Promise((resolve) => setImmediate(resolve));
  expect(asked).toHaveLength(2);
  opening.resolve();
  const all = await Promise.all(answers);
  expect(all.filter((answer) => answer === 'refused')).toHaveLength(500 - 64);
  expect(all.filter((answer) => answer === false)).toHaveLength(64);
});
