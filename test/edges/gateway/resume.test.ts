import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import type { StoringNode } from '../../../src/edges/chain/files/chain.ts';
import { signText } from '../../../src/edges/chain/files/signatures.ts';
import {
  findTask,
  newTaskId,
  resumeTask,
  startTask,
  statesOf,
  type Task,
} from '../../../src/edges/gateway/tasks/task-log.ts';
import type { Log } from '../../../src/engine/log/log.ts';
import { freshNetwork } from '../../support/programs/servers.ts';
import {
  actionOver,
  creatorKey,
  finalize,
  type GatewayChanges,
  type GatewayUnderTest,
  gatewayUnderTest,
} from './gateway-under-test.ts';
import { foreverMs } from './misdeeds.ts';
import { chunksOf, finalized, goodNode, type Misdeed, serveNodes, taken } from './nodes-under-test.ts';
import { formOf, post, signatureOf, taskIn } from './uploading.ts';

const bytes = randomBytes(100_000);
const at = new Date().toISOString();
/** How many uploads lose their gateway; a longer run says more. */
const losses = Number(process.env['UPLOAD_LOSSES'] ?? 3);

async function endOf({ log }: GatewayUnderTest, id: string): Promise<unknown[]> {
  const isEnded = async () => (await findTask(log, id))?.known.ended;
  await expect.poll(isEnded, { timeout: 20_000 }).toBe(true);
  const task = await findTask(log, id);
  const events = [];
  if (task) for await (const event of statesOf(log, task, 0)) events.push(event);
  expect(events.map(({ number }) => number)).toEqual(events.map((_, index) => index + 1));
  const last = events.at(-1);
  return [last?.status, last?.detail?.error ?? ''];
}

/** Nobody hears of these bytes before `held` is over. */
function holding(held: Readonly<{ now: boolean }>): Misdeed {
  const still = async (signal: AbortSignal): Promise<void> => {
    if (held.now) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('gone'))));
  };
  return () => ({
    async *download(_request, { signal }) {
      await still(signal);
      yield* chunksOf(bytes);
    },
    async *register(requests, { signal }) {
      await taken(requests);
      await still(signal);
      yield finalized;
    },
  });
}

/** Gateways of one network, one after the other, whose chain has action 7 and one node. */
async function network(chainState: string, held: Readonly<{ now: boolean }> = { now: false }) {
  const gateways: GatewayUnderTest[] = [];
  const nodes: readonly StoringNode[] = await serveNodes(goodNode(bytes), [holding(held)], (id) =>
    gateways.forEach((one) => finalize(one, id)),
  );
  const chain = { storers: async () => await Promise.resolve({ nodes, total: 1 }) };
  const shared = { network: freshNetwork(), chain, resumes: true, stallMs: foreverMs };
  return async (changes: GatewayChanges = {}): Promise<GatewayUnderTest> => {
    const gateway = await gatewayUnderTest({ ...shared, ...changes });
    gateways.push(gateway);
    gateway.actions.set('7', await actionOver(bytes, { chainState, isPublic: true }));
    gateway.actions.set('8', await actionOver(bytes, { id: '8', chainState }));
    return gateway;
  };
}

async function requestDownload({ url }: GatewayUnderTest, action: string, query: string, body: object) {
  const headers = { 'content-type': 'application/json' };
  const where = `${url}/api/v1/actions/cascade/${action}/downloads${query}`;
  const answer = await fetch(where, { method: 'POST', headers, body: JSON.stringify(body) });
  return String(((await answer.json()) as { task_id?: string }).task_id);
}

it(
  'a gateway goes on with the public download of one that is gone, and ends its private ones with the words to request them again',
  { tags: ['S3.two.downloads', 'S3.restart.goes-on', 'S3.restart.private'] },
  async () => {
    const held = { now: true };
    const start = await network('done', held);
    await using other = await start();
    const first = await start();
    const open = await requestDownload(first, '7', '?public=true', {});
    const closed = await requestDownload(first, '8', '', { signature: signText(creatorKey, '8') });
    await first[Symbol.asyncDispose]();
    held.now = false;
    expect(await endOf(other, open)).toEqual(['sdk:completed', '']);
    expect(await endOf(other, closed)).toEqual(['sdk:failed', expect.stringContaining('request the download again')]);
    const task = await findTask(other.log, open);
    expect(task?.known.store).toBe(other.files.store);
    expect((await readFile(other.files.fetchedOf(open))).equals(bytes)).toBe(true);
  },
);

it('two gateways never carry out one task at once', { tags: ['S3.two.lease'] }, async () => {
  let [now, most] = [0, 0];
  const heights: number[] = [];
  const storers = async (height: number) => {
    heights.push(height);
    now += 1;
    most = Math.max(most, now);
    await new Promise((resolve) => setTimeout(resolve, 200));
    now -= 1;
    return { nodes: [], total: 0 };
  };
  const start = await network('done');
  const begun: Task[] = [];
  {
    await using gone = await start({ resumes: false });
    const asked = {
      direction: 'download',
      isPrivate: false,
      action: '7',
      at,
      store: 'gone',
      holder: 'gone.1',
    } as const;
    for (let count = 0; count < 3; count++) begun.push(await startTask(gone.log, newTaskId(), asked));
  }
  await using one = await start({ chain: { storers } });
  await using other = await start({ chain: { storers } });
  const inOrder = begun.map(async ({ id }) => await endOf(one, id));
  for (const end of await Promise.all(inOrder)) expect(end[0]).toBe('sdk:failed');
  await Promise.all(begun.map(async (task) => await Promise.all([one.runner.endOf(task), other.runner.endOf(task)])));
  // Each task requests the nodes of its action's height once and, as there are none, those of the latest block.
  expect(heights.filter((height) => height === 5)).toHaveLength(begun.length);
  expect(heights).toHaveLength(2 * begun.length);
  expect(most).toBeLessThanOrEqual(begun.length);
});

it(
  'a gateway leaves a task alone that another carries out, or that has ended, though it had it itself',
  { tags: ['S3.two.lease'] },
  async () => {
    let looks = 0;
    const storers = async () => await Promise.resolve({ nodes: [], total: (looks += 1) });
    const start = await network('done');
    await using one = await start({ chain: { storers }, resumes: false });
    const wanted = { direction: 'download', isPrivate: false, action: '7', at } as const;
    const action = one.actions.get('7') ?? (await actionOver(bytes));
    const ended = await one.runner.begin(newTaskId(), wanted, action);
    expect((await endOf(one, ended.id))[0]).toBe('sdk:failed');
    await one.runner.endOf(ended);
    const before = looks;
    const moved = await startTask(one.log, newTaskId(), { ...wanted, store: 'shared', holder: 'one.1' });
    await resumeTask(one.log, moved, { holder: 'other.1', store: 'shared' });
    for (const task of [moved, ended]) {
      one.runner.run(task);
      await one.runner.endOf(task);
    }
    expect([looks, (await findTask(one.log, moved.id))?.known.holder]).toEqual([before, 'other.1']);
  },
);

it(
  'a private download that has just begun is never taken for one that was cut off',
  { tags: ['S3.restart.private'] },
  async () => {
    const start = await network('done');
    await using one = await start();
    await using other = await start({ folder: one.files.folder });
    const ids: string[] = [];
    for (let count = 0; count < 20; count++) {
      const gateway = count % 2 === 0 ? one : other;
      ids.push(await requestDownload(gateway, '8', '', { signature: signText(creatorKey, '8') }));
    }
    for (const id of new Set(ids)) expect(await endOf(one, id)).toEqual(['sdk:completed', '']);
  },
);

it(
  'an upload that another gateway has is refused also where the log is read late',
  { tags: ['S3.two.uploads'] },
  async () => {
    const start = await network('pending', { now: true });
    const late = Promise.withResolvers<void>();
    let heads = 0;
    const lagging = (log: Log): Log => ({
      ...log,
      // Nothing new is read before somebody requests where the log ends, after the start has done so.
      head: async (stream) => {
        if ((heads += 1) > 1) late.resolve();
        return await log.head(stream);
      },
      follow: async function* (...about) {
        await late.promise;
        yield* log.follow(...about);
      },
    });
    await using first = await start();
    await using other = await start({ log: lagging });
    const fields = { action_id: '7', signature: signatureOf(await actionOver(bytes)), file: bytes };
    const task = taskIn(await post(first.url, formOf(fields)));
    const refused = await post(other.url, formOf(fields));
    late.resolve();
    expect([refused.status, refused.error]).toEqual([409, expect.stringContaining(task)]);
  },
);

it(
  'the same upload is taken at another gateway once its own is gone with its folder, and the old task ends at once',
  { tags: ['S3.two.uploads'], timeout: 30_000 + losses * 15_000 },
  async () => {
    for (let loss = 0; loss < losses; loss++) {
      const held = { now: true };
      const start = await network('pending', held);
      await using other = await start();
      const first = await start();
      const fields = { action_id: '7', signature: signatureOf(await actionOver(bytes)), file: bytes };
      const old = taskIn(await post(first.url, formOf(fields)));
      const refused = await post(other.url, formOf(fields));
      expect([refused.status, refused.error]).toEqual([409, expect.stringContaining(old)]);
      await first[Symbol.asyncDispose]();
      held.now = false;
      let answer = refused;
      const retried = async () => (answer = await post(other.url, formOf(fields))).status;
      await expect.poll(retried, { timeout: 30_000, interval: 300 }).toBe(202);
      expect(await endOf(other, old)).toEqual(['sdk:failed', expect.stringContaining('uploaded again')]);
      expect(await endOf(other, taskIn(answer))).toEqual(['sdk:completed', '']);
    }
  },
);

it(
  'an upload whose bytes nobody has stays open while its action is pending, and ends as the chain says',
  { tags: ['S3.two.uploads'] },
  async () => {
    const held = { now: true };
    const start = await network('pending', held);
    const first = await start();
    const old = taskIn(
      await post(first.url, formOf({ action_id: '7', signature: signatureOf(await actionOver(bytes)), file: bytes })),
    );
    await first[Symbol.asyncDispose]();
    await using other = await start();
    finalize(other, '7');
    expect(await endOf(other, old)).toEqual(['sdk:completed', '']);
  },
);
