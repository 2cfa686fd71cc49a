import { randomBytes } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { freshFolder } from '../../../support/programs/fresh-folder.ts';
import { freshNetwork } from '../../../support/programs/servers.ts';
import { actionOver, begunUpload, finalize, type GatewayChanges, gatewayUnderTest } from '../gateway-under-test.ts';
import { finalized, goodNode, type Misdeed, serveNodes, taken } from '../nodes-under-test.ts';

const bytes = randomBytes(200_000);

type Told = Readonly<{ id: string; name?: string; status: string }>;

/** Gateways with one log and one folder, before a node that finalizes an upload once it is let. */
async function start() {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const node: Misdeed = () => ({
    async *register(requests) {
      await taken(requests);
      yield { eventType: 1, message: 'the first' };
      await released;
      yield { eventType: 2, message: 'the second' };
      yield finalized;
    },
  });
  const actions = new Map([['7', await actionOver(bytes)]]);
  const nodes = await serveNodes(goodNode(bytes), [node, node], (action) => finalize({ actions }, action));
  const storers = async () => await Promise.resolve({ nodes, total: 2 });
  const { folder, remove } = freshFolder();
  onTestFinished(remove);
  onTestFinished(() => release());
  const settings = { sseMax: 2_000, sseMaxPerAddress: 2_000, rateLimit: undefined };
  const chain: GatewayChanges['chain'] = { storers, action: async (id) => await Promise.resolve(actions.get(id)) };
  const shared = { network: freshNetwork(), folder, chain, settings, resumes: true, stallMs: 60_000 };
  const open = async () => {
    const gateway = await gatewayUnderTest(shared);
    gateway.actions.set('7', await actionOver(bytes));
    let isOpen = true;
    const end = async (): Promise<void> => {
      if (isOpen) await gateway[Symbol.asyncDispose]();
      isOpen = false;
    };
    onTestFinished(end);
    return { ...gateway, end };
  };
  return { open, release };
}

/** The events of a stream from a position on, until `enough` or its end. */
async function streamed(url: string, after?: string, enough: (told: Told) => boolean = () => false) {
  const headers = { accept: 'text/event-stream', ...(after === undefined ? {} : { 'last-event-id': after }) };
  const answer = await fetch(url, { headers });
  const told: Told[] = [];
  let text = '';
  const decoder = new TextDecoder();
  for await (const part of answer.body ?? []) {
    text += decoder.decode(part, { stream: true });
    const frames = text.split('\n\n');
    text = frames.pop() ?? '';
    for (const frame of frames) {
      const [, id = ''] = /^id: (.*)$/m.exec(frame) ?? [];
      const [, name] = /^event: (.*)$/m.exec(frame) ?? [];
      const [, data = '{}'] = /^data: (.*)$/m.exec(frame) ?? [];
      if (id === '') continue;
      const { status } = JSON.parse(data) as { status: string };
      told.push({ id, status, ...(name === undefined ? {} : { name }) });
      if (enough({ id, status })) return { status: answer.status, told };
    }
  }
  return { status: answer.status, told };
}

it(
  'a reader goes on at another gateway once that has the task, and ends with it',
  { tags: ['S3.stream.resume'] },
  async () => {
    const { open, release } = await start();
    const [first, second] = [await open(), await open()];
    const task = await begunUpload(first, bytes);
    const path = `/api/v1/actions/cascade/tasks/${task}/status`;
    const isFirst = ({ status }: Told): boolean => status.startsWith('supernode:');
    const before = (await streamed(first.url + path, undefined, isFirst)).told;
    const following = streamed(second.url + path, before.at(-1)?.id);
    await first.end();
    release();
    const rest = (await following).told;
    expect(rest.at(-1)).toMatchObject({ status: 'sdk:completed', name: 'sdk:completed' });
    const ids = [...before, ...rest.slice(0, -1)].map(({ id }) => Number(id));
    expect(ids).toEqual(Array.from({ length: ids.length }, (_, at) => at + 1));
    // After a restart of the gateway, and after the end.
    const third = await open();
    const last = String(ids.length);
    expect((await streamed(third.url + path, last)).status).toBe(204);
    expect((await streamed(third.url + path, String(ids.length - 1))).told.map(({ id }) => id)).toEqual([last, last]);
    expect((await streamed(third.url + path, String(ids.length + 5))).told.length).toBe(ids.length + 1);
  },
);

it('a thousand readers at two gateways get each state once', { tags: ['S3.stream.resume'] }, async () => {
  const { open, release } = await start();
  const [first, second] = [await open(), await open()];
  const task = await begunUpload(first, bytes);
  const urls = [first, second].map(({ url }) => `${url}/api/v1/actions/cascade/tasks/${task}/status`);
  let arrived = 0;
  const readers = Array.from({ length: 1_000 }, async (_, at) => {
    const seen = (): boolean => {
      arrived += 1;
      if (arrived === 1_000) release();
      return true;
    };
    const isFirst = ({ status }: Told): boolean => status.startsWith('supernode:') && seen() && at % 2 === 1;
    const url = urls[at % 4 < 2 ? 0 : 1] ?? '';
    const before = (await streamed(url, undefined, isFirst)).told;
    if (at % 2 === 0) return before;
    // Every other one breaks off and comes back at the other gateway.
    return [...before, ...(await streamed(urls[at % 4 < 2 ? 1 : 0] ?? '', before.at(-1)?.id)).told];
  });
  const all = await Promise.all(readers);
  const [one = []] = all;
  expect(one.at(-1)).toMatchObject({ name: 'sdk:completed' });
  expect(one.slice(0, -1).map(({ id }) => Number(id))).toEqual(one.slice(0, -1).map((_, at) => at + 1));
  for (const told of all) expect(told).toEqual(one);
});
