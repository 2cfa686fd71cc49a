import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { freezeDisk } from '../../../support/programs/frozen-disk.ts';
import { actionOver, begunUpload, finalize, type GatewayUnderTest, gatewayUnderTest } from '../gateway-under-test.ts';
import { chunksOf, finalized, goodNode, historyOf, type Misdeed, serveNodes } from '../nodes-under-test.ts';

const stallMs = 400;
const file = randomBytes(4 * 2 ** 20);

/** Keeps this process, gateway and node, from doing anything else. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** The disk of the gateway gives no answer for longer than a node may be silent. */
function freezeForLong(): void {
  const thaw = freezeDisk();
  onTestFinished(thaw);
  void pause(3 * stallMs).then(thaw);
}

/** A gateway before one node, which has something happen once it has had the first bytes. */
async function start(happens: () => void) {
  const calls: string[] = [];
  const node: Misdeed = () => ({
    async *download() {
      calls.push('download');
      let sent = 0;
      for await (const chunk of chunksOf(file)) {
        yield chunk;
        sent += 1;
        if (sent === 10) happens();
      }
    },
    async *register(requests) {
      calls.push('register');
      let taken = 0;
      for await (const _ of requests) if ((taken += 1) === 2) happens();
      yield finalized;
    },
  });
  const nodes = await serveNodes(goodNode(file), [node], (id) => finalize(gateway, id));
  const storers = async () => await Promise.resolve({ nodes, total: 1 });
  const gateway: GatewayUnderTest = await gatewayUnderTest({ chain: { storers }, stallMs, processingMs: 60_000 });
  onTestFinished(async () => await gateway[Symbol.asyncDispose]());
  return { gateway, calls };
}

it.each([
  { what: 'the disk of the gateway gives no answer', happens: freezeForLong },
  { what: 'the gateway stands still', happens: () => standStill(2 * stallMs) },
])('an upload blames no node for a time in which $what', { tags: ['S3.disk.ours'] }, async ({ happens }) => {
  const { gateway, calls } = await start(happens);
  gateway.actions.set('7', await actionOver(file));
  const states = await historyOf(gateway.url, 'uploads', await begunUpload(gateway, file));
  expect(states.at(-1)?.status).toBe('sdk:completed');
  expect([calls, JSON.stringify(states)]).toEqual([['register'], expect.not.stringContaining('previous_error')]);
});

it.each([
  { what: 'the disk of the gateway gives no answer', happens: freezeForLong },
  { what: 'the gateway stands still', happens: () => standStill(2 * stallMs) },
])('a download blames no node for a time in which $what', { tags: ['S3.disk.ours'] }, async ({ happens }) => {
  const { gateway, calls } = await start(happens);
  gateway.actions.set('7', await actionOver(file, { chainState: 'done', isPublic: true, fileSizeKbs: 4096 }));
  const answer = await fetch(`${gateway.url}/api/v1/actions/cascade/7/downloads?public=true`, { method: 'POST' });
  const { task_id: task } = (await answer.json()) as { task_id: string };
  const states = await historyOf(gateway.url, 'downloads', task);
  expect(states.at(-1)?.status).toBe('sdk:completed');
  expect([calls, JSON.stringify(states)]).toEqual([['download'], expect.not.stringContaining('previous_error')]);
});
