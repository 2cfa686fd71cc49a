import { randomBytes } from 'node:crypto';
import { rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { actionOver, type GatewayChanges, type GatewayUnderTest, gatewayUnderTest } from './gateway-under-test.ts';
import { goodNode, historyOf, type Misdeed, serveNodes } from './nodes-under-test.ts';
import { formOf, post, signatureOf, taskIn } from './uploading.ts';

const bytes = randomBytes(300_000);

/** A gateway before two good nodes; what they are called with is counted. */
async function start(
  changes: GatewayChanges = {},
  onStorers = async () => await Promise.resolve(),
): Promise<{ gateway: GatewayUnderTest; calls: string[] }> {
  const calls: string[] = [];
  const good = goodNode(bytes);
  const counted: Misdeed = () => ({
    download: (...given) => {
      calls.push('download');
      return good.download(...given);
    },
    async *register(...given) {
      calls.push('register');
      yield* good.register(...given);
      const [[id, action] = []] = gateway.actions;
      if (id && action) gateway.actions.set(id, { ...action, record: { ...action.record, chainState: 'done' } });
    },
  });
  const nodes = await serveNodes(good, [counted, counted]);
  const storers = async () => {
    await onStorers();
    return { nodes, total: 2 };
  };
  const gateway = await gatewayUnderTest({ ...changes, chain: { storers } });
  onTestFinished(async () => await gateway[Symbol.asyncDispose]());
  return { gateway, calls };
}

async function requestDownload({ url }: GatewayUnderTest): Promise<string> {
  const answer = await fetch(`${url}/api/v1/actions/cascade/7/downloads?public=true`, { method: 'POST' });
  return String(((await answer.json()) as Record<string, unknown>)['task_id']);
}

it(
  'a folder of ours that is away ends a download in our words, and no node is asked or blamed',
  { tags: ['S3.disk.ours'] },
  async () => {
    const { gateway, calls } = await start();
    gateway.actions.set('7', await actionOver(bytes, { chainState: 'done', isPublic: true }));
    await rm(path.join(gateway.files.folder, 'fetched'), { recursive: true });
    const states = await historyOf(gateway.url, 'downloads', await requestDownload(gateway));
    expect(states.at(-1)).toMatchObject({ status: 'sdk:failed', data: { code: 'INTERNAL' } });
    expect(JSON.stringify(states)).not.toContain(gateway.files.folder);
    expect(JSON.stringify(states)).not.toContain('previous_error');
    expect(calls).toEqual([]);
  },
);

it(
  'a file that outgrows the room ends its download with INSUFFICIENT_STORAGE',
  { tags: ['S3.disk.ours'] },
  async () => {
    const { gateway, calls } = await start({ settings: { transferSpace: 200_000 } });
    // The record says less than the nodes give.
    const action = await actionOver(bytes, { chainState: 'done', isPublic: true, fileSizeKbs: 1 });
    gateway.actions.set('7', action);
    const states = await historyOf(gateway.url, 'downloads', await requestDownload(gateway));
    expect(states.at(-1)).toMatchObject({ status: 'sdk:failed', data: { code: 'INSUFFICIENT_STORAGE' } });
    expect(calls).toEqual(['download']);
  },
);

it('an upload whose bytes cannot be read waits for the disk and goes on', { tags: ['S3.disk.ours'] }, async () => {
  const looks: (() => Promise<void>)[] = [];
  const { gateway, calls } = await start({}, async () => await looks.shift()?.());
  const action = await actionOver(bytes);
  gateway.actions.set('7', action);
  const uploads = path.join(gateway.files.folder, 'uploads');
  // The chain is asked for nodes by the request, and then by each run of the task: the folder is away in the first.
  looks.push(
    async () => await Promise.resolve(),
    async () => await rename(uploads, `${uploads}-away`),
    async () => await rename(`${uploads}-away`, uploads),
  );
  const form = formOf({ action_id: '7', signature: signatureOf(action), file: bytes });
  const states = await historyOf(gateway.url, 'uploads', taskIn(await post(gateway.url, form)));
  expect(states.at(-1)?.status).toBe('sdk:completed');
  expect(JSON.stringify(states)).not.toContain('previous_error');
  expect(calls).toEqual(['register']);
});
