import { expect, test } from 'vitest';
import { openChain } from '../../../src/edges/ledger/log-fold.ts';
import { localBeginning } from '../../../src/edges/local-network/beginning.ts';
import { messagesOf } from '../../../src/edges/local-network/deeds.ts';
import { executeInMemory } from '../../support/histories/memory-nodes.ts';
import { until } from '../../support/polling.ts';
import { ask, cast, freshLog, seed, send, startLedger } from './ledger-under-test.ts';

const register = (creator: number) =>
  messagesOf(
    { kind: 'register', registrations: [{ id: 1, isSense: false, creator, lifetimeSeconds: 90_000 }] },
    { seed, cast, atMs: Date.now(), idOf: String },
  );

type Found = Readonly<{ tx_responses: readonly Readonly<{ height: string }>[] }>;

test('a page of transactions reads the fact of each block once, however many of them it holds', async () => {
  await using fresh = await freshLog();
  const read: number[] = [];
  const log = {
    ...fresh.log,
    readOne: async (stream: 'LEDGER', sequence: number) => {
      read.push(sequence);
      return await fresh.log.readOne(stream, sequence);
    },
  } as typeof fresh.log;
  await using ledger = await startLedger(log);
  const page = async (): Promise<Found> =>
    (await ask(ledger, '/cosmos/tx/v1beta1/txs?query=tx.height%3E%3D1&limit=100')).body as Found;
  const heights = await until('a block holds several', async () => {
    await Promise.all(cast.creators.map((_, creator) => send(ledger, register(creator))));
    const all = (await page()).tx_responses.map(({ height }) => height);
    return new Set(all).size < all.length && all;
  });
  read.length = 0;
  expect((await page()).tx_responses.map(({ height }) => height)).toEqual(heights);
  expect(read).toHaveLength(new Set(read).size);
  expect(read).toHaveLength(new Set(heights).size);
});

test('the next expiry is looked for among the open actions once a block, not once a step of the sealer', async () => {
  await using fresh = await freshLog();
  {
    await using ledger = await startLedger(fresh.log);
    await send(ledger, register(0));
  }
  const sources = { beginning: () => localBeginning(seed, Date.now()), execution: executeInMemory };
  const chain = await openChain(fresh.log, sources, new AbortController().signal);
  const { state } = chain.history;
  let looks = 0;
  Object.defineProperty(chain.history, 'state', {
    get: () => {
      looks += 1;
      return state;
    },
  });
  const expiry = chain.nextExpiry();
  expect(expiry).toBeGreaterThan(Date.now());
  for (let step = 0; step < 10; step += 1) expect(chain.nextExpiry()).toBe(expiry);
  expect(looks).toBe(1);
});
