import { randomBytes } from 'node:crypto';
import { Kvm } from '@nats-io/kv';
import { expect, it, onTestFinished } from 'vitest';
import { connectNats } from '../../../../src/engine/log/connection.ts';
import { presentIn } from '../../../../src/engine/log/presence.ts';
import { findTask, resumeTask } from '../../../../src/edges/gateway/tasks/task-log.ts';
import { freshNetwork, testNats } from '../../../support/programs/servers.ts';
import { actionOver, begunUpload, finalize, type GatewayUnderTest, gatewayUnderTest } from '../gateway-under-test.ts';
import { foreverMs } from '../misdeeds.ts';
import { finalized, goodNode, historyOf, type Misdeed, serveNodes, taken } from '../nodes-under-test.ts';

const bytes = randomBytes(100_000);

/** Has a file, and works with it until the test lets it go on; a caller that is gone is noted. */
function working() {
  const [reached, free, gone] = [
    Promise.withResolvers<void>(),
    Promise.withResolvers<void>(),
    Promise.withResolvers<void>(),
  ];
  const node: Misdeed = () => ({
    async *register(requests, { signal }) {
      signal.addEventListener('abort', () => gone.resolve());
      await taken(requests);
      reached.resolve();
      await free.promise;
      yield finalized;
    },
  });
  return { node, reached: reached.promise, free: free.resolve, gone: gone.promise };
}

async function start(network: string, node: Misdeed) {
  const storers = await serveNodes(goodNode(bytes), [node], (id) => finalize(gateway, id));
  const chain = { storers: async () => await Promise.resolve({ nodes: storers, total: 1 }) };
  const gateway: GatewayUnderTest = await gatewayUnderTest({ network, chain, resumes: true, stallMs: foreverMs });
  onTestFinished(async () => await gateway[Symbol.asyncDispose]());
  gateway.actions.set('7', await actionOver(bytes));
  return gateway;
}

/** Takes the lease of every gateway of a network, and waits until each is announced anew. */
async function loseLeases(network: string): Promise<void> {
  const nc = await connectNats({ ...testNats(), name: 'lost lease test' });
  const bucket = await new Kvm(nc).open(`annals-gateways_${network}`);
  for (const name of await presentIn(nc, { network, group: 'gateways' })) await bucket.delete(name);
  await expect.poll(async () => (await presentIn(nc, { network, group: 'gateways' })).size).toBe(1);
  await nc.close();
}

it(
  'an attempt goes on though the lease of its gateway was lost for a moment, and is not begun anew',
  { tags: ['S3.two.lease'] },
  async () => {
    const network = freshNetwork();
    const { node, reached, free } = working();
    const gateway = await start(network, node);
    const task = await begunUpload(gateway, bytes);
    await reached;
    for (let losses = 0; losses < 3; losses += 1) await loseLeases(network);
    free();
    const history = await historyOf(gateway.url, 'uploads', task);
    expect(history.at(-1)?.status).toBe('sdk:completed');
    expect(history.filter(({ status }) => status === 'sdk:registration_attempt')).toHaveLength(1);
  },
);

it(
  'an attempt ends once another gateway has resumed its task, though nothing is written of it',
  { tags: ['S3.two.lease'] },
  async () => {
    const network = freshNetwork();
    const { node, reached, free, gone } = working();
    const gateway = await start(network, node);
    const id = await begunUpload(gateway, bytes);
    await reached;
    const task = await findTask(gateway.log, id);
    if (task) await resumeTask(gateway.log, task, { holder: 'other.1', store: 'other' });
    await gone;
    expect((await findTask(gateway.log, id))?.known).toMatchObject({ holder: 'other.1', ended: false });
    free();
  },
);
