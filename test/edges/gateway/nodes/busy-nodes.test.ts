import { Code, ConnectError } from '@connectrpc/connect';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { fileTooLarge } from '../../../../src/edges/rpc/too-large.ts';
import { actionOver, begunUpload, finalize, type GatewayUnderTest, gatewayUnderTest } from '../gateway-under-test.ts';
import { bytes, good } from '../misdeeds.ts';
import { finalized, historyOf, type Misdeed, serveNodes, type Told } from '../nodes-under-test.ts';

/** Has no room for the first so many uploads. */
function busyFor(refusals: number): Misdeed {
  let left = refusals;
  return () => ({
    async *register(requests) {
      left -= 1;
      if (left >= 0)
        throw new ConnectError('As many uploads at once as one address may have: 8', Code.ResourceExhausted);
      for await (const _ of requests);
      yield finalized;
    },
  });
}

it('an upload waits for nodes that are busy with others, however often they say so', async () => {
  const storers = await serveNodes(good, [busyFor(4)], (id) => finalize(gateway, id));
  const chain = { storers: async () => await Promise.resolve({ nodes: storers, total: storers.length }) };
  const gateway: GatewayUnderTest = await gatewayUnderTest({ chain });
  onTestFinished(async () => await gateway[Symbol.asyncDispose]());
  gateway.actions.set('7', await actionOver(bytes));
  const task = await begunUpload(gateway, bytes);
  const history: readonly Told[] = await historyOf(gateway.url, 'uploads', task);
  expect(history.at(-1)?.status).toBe('sdk:completed');
  const reasons = history.map(({ data }) => data['previous_error']).filter((one) => one !== undefined);
  expect(reasons).toEqual(
    Array.from({ length: 4 }, () => '[resource_exhausted] As many uploads at once as one address may have: 8'),
  );
});

it('an upload waits for a node that still works for the gateway before, however often it says so', async () => {
  let refusals = 4;
  const working: Misdeed = () => ({
    async *register(requests) {
      refusals -= 1;
      if (refusals >= 0) throw new ConnectError('Action 7 is being registered here', Code.AlreadyExists);
      for await (const _ of requests);
      yield finalized;
    },
  });
  const storers = await serveNodes(good, [working], (id) => finalize(gateway, id));
  const chain = { storers: async () => await Promise.resolve({ nodes: storers, total: storers.length }) };
  const gateway: GatewayUnderTest = await gatewayUnderTest({ chain });
  onTestFinished(async () => await gateway[Symbol.asyncDispose]());
  gateway.actions.set('7', await actionOver(bytes));
  const history = await historyOf(gateway.url, 'uploads', await begunUpload(gateway, bytes));
  expect(history.at(-1)?.status).toBe('sdk:completed');
});

it('an upload that no node takes for its size ends at once, each node asked twice', async () => {
  let asked = 0;
  const tooSmall: Misdeed = () => ({
    async *register(requests) {
      asked += 1;
      for await (const _ of requests) throw new ConnectError(fileTooLarge(5), Code.ResourceExhausted);
      yield finalized;
    },
  });
  const storers = await serveNodes(good, [tooSmall]);
  const chain = { storers: async () => await Promise.resolve({ nodes: storers, total: storers.length }) };
  await using gateway = await gatewayUnderTest({ chain });
  gateway.actions.set('7', await actionOver(bytes));
  const history = await historyOf(gateway.url, 'uploads', await begunUpload(gateway, bytes));
  expect(history.at(-1)?.status).toBe('sdk:failed');
  expect(asked).toBe(2);
});

it('an upload waits for busy nodes however long its tries of others took', async () => {
  const busyMs = 400;
  const slow: Misdeed = () => ({
    async *register(requests) {
      for await (const _ of requests);
      await pause(1.5 * busyMs);
      yield* [];
    },
  });
  const storers = await serveNodes(good, [slow, busyFor(2)], (id) => finalize(gateway, id));
  const chain = { storers: async () => await Promise.resolve({ nodes: storers, total: storers.length }) };
  const gateway: GatewayUnderTest = await gatewayUnderTest({ chain, busyMs, stallMs: 60_000 });
  onTestFinished(async () => await gateway[Symbol.asyncDispose]());
  gateway.actions.set('7', await actionOver(bytes));
  const history = await historyOf(gateway.url, 'uploads', await begunUpload(gateway, bytes));
  expect(history.at(-1), JSON.stringify(history)).toMatchObject({ status: 'sdk:completed' });
});
