import { expect, it } from 'vitest';
import { beginTask, findTask, newTaskId, statesOf, type Task } from '../../../src/edges/gateway/tasks/task-log.ts';
import { freshNetwork } from '../../support/servers.ts';
import { actionOver, type GatewayUnderTest, gatewayUnderTest } from './gateway-under-test.ts';

const bytes = Buffer.from('bytes of a file');
const at = new Date().toISOString();

async function begun({ log }: GatewayUnderTest, store: string, isPrivate: boolean): Promise<Task> {
  return await beginTask(log, newTaskId(), { direction: 'download', isPrivate, action: '7', at, store });
}

async function endOf({ log, runner }: GatewayUnderTest, task: Task): Promise<unknown> {
  await runner.endOf(task);
  const now = await findTask(log, task.id);
  const events = [];
  if (now) for await (const event of statesOf(log, now, 0)) events.push(event);
  expect(events.map(({ number }) => number)).toEqual(events.map((_, index) => index + 1));
  const last = events.at(-1);
  return [last?.status, last?.detail?.error];
}

it(
  'a private download that a restart has cut off ends with the words to request it again',
  { tags: ['S3.restart.private'] },
  async () => {
    await using gateway = await gatewayUnderTest();
    const task = await begun(gateway, gateway.files.store, true);
    await gateway.runner.resume([]);
    expect(await endOf(gateway, task)).toEqual(['sdk:failed', expect.stringContaining('request the download again')]);
  },
);

it(
  'a gateway goes on with the public download of another that is gone, and leaves its private ones',
  { tags: ['S3.two.downloads', 'S3.restart.goes-on'] },
  async () => {
    await using gateway = await gatewayUnderTest();
    gateway.actions.set('7', await actionOver(bytes, { chainState: 'done', isPublic: true }));
    const [open, closed] = [await begun(gateway, 'elsewhere', false), await begun(gateway, 'elsewhere', true)];
    await gateway.runner.resume([open.id]);
    expect(await endOf(gateway, open)).toEqual(['sdk:failed', expect.stringContaining('none of the SuperNodes')]);
    expect((await findTask(gateway.log, closed.id))?.known.ended).toBe(false);
  },
);

it('two gateways never carry out one task at once', { tags: ['S3.two.lease'] }, async () => {
  const network = freshNetwork();
  let [now, most] = [0, 0];
  const storers = async () => {
    now += 1;
    most = Math.max(most, now);
    await new Promise((resolve) => setImmediate(resolve));
    now -= 1;
    return { nodes: [], total: 0 };
  };
  await using one = await gatewayUnderTest({ network, chain: { storers } });
  await using other = await gatewayUnderTest({ network, chain: { storers } });
  for (const gateway of [one, other])
    gateway.actions.set('7', await actionOver(bytes, { chainState: 'done', isPublic: true }));
  const task = await begun(one, one.files.store, false);
  await Promise.all([one.runner.resume([task.id]), other.runner.resume([task.id])]);
  await Promise.all([one.runner.endOf(task), other.runner.endOf(task)]);
  expect(await endOf(one, task)).toEqual(['sdk:failed', expect.any(String)]);
  expect(most).toBe(1);
});
