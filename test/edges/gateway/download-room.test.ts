import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { signText } from '../../../src/edges/chain/files/signatures.ts';
import { sign } from '../../../src/edges/chain/sign/keys.ts';
import type { GatewaySettings } from '../../../src/edges/gateway/rest/dependencies.ts';
import { actionOver, creatorKey, type GatewayUnderTest, gatewayUnderTest } from './gateway-under-test.ts';
import { chunksOf, goodNode, historyOf, type Node, serveNodes } from './nodes-under-test.ts';
import { formOf, post, signatureOf } from './uploading.ts';

const fileBytes = 15 * 1024;
const file = randomBytes(fileBytes);

/** A gateway before a node that has the file of every action, or does something else with downloads. */
async function start(settings: Partial<GatewaySettings>, download?: Node['download']): Promise<GatewayUnderTest> {
  const nodes = await serveNodes(goodNode(file), [() => (download ? { download } : {})]);
  const storers = async () => await Promise.resolve({ nodes, total: 1 });
  const gateway = await gatewayUnderTest({ settings, chain: { storers }, stallMs: 60_000 });
  onTestFinished(async () => await gateway[Symbol.asyncDispose]());
  for (const id of ['1', '2', '3']) {
    const stored = { id, chainState: 'done', isPublic: id !== '3', fileSizeKbs: 15 };
    gateway.actions.set(id, await actionOver(file, stored));
  }
  return gateway;
}

/** Requests a download; its status and the task or code that is answered. */
async function request({ url }: GatewayUnderTest, id: string, signature?: string): Promise<[number, string]> {
  const body = JSON.stringify(signature === undefined ? {} : { signature });
  const query = signature === undefined ? '?public=true' : '';
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
  const answer = await fetch(`${url}/api/v1/actions/cascade/${id}/downloads${query}`, init);
  const { task_id: task, code } = (await answer.json()) as Record<string, string>;
  return [answer.status, task ?? code ?? ''];
}

const fetchedBy = async ({ files }: GatewayUnderTest) => await readdir(path.join(files.folder, 'fetched'));

/** Sends nothing until it is let go. */
function holding(): { download: Node['download']; release: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  onTestFinished(() => resolve());
  const download: Node['download'] = async function* () {
    await promise;
    yield* chunksOf(file);
  };
  return { download, release: () => resolve() };
}

describe('the room of downloads', () => {
  it('is one file for each action that is public, while it is kept', { tags: ['S3.download.kept'] }, async () => {
    const gateway = await start({ transferSpace: 60 * 1024 });
    const [, first] = await request(gateway, '1');
    await historyOf(gateway.url, 'downloads', first);
    for (let turn = 0; turn < 5; turn += 1) expect(await request(gateway, '1')).toEqual([202, first]);
    const [, second] = await request(gateway, '2');
    await historyOf(gateway.url, 'downloads', second);
    expect(await fetchedBy(gateway)).toEqual([first, second].toSorted());
    const answer = await fetch(`${gateway.url}/api/v1/downloads/cascade/${first}/file`);
    expect(Buffer.from(await answer.arrayBuffer()).equals(file)).toBe(true);
    // Strangers have fetched what they could; an upload has room.
    const action = await actionOver(Buffer.from('six ..'), { id: '9' });
    gateway.actions.set('9', action);
    const form = formOf({ action_id: '9', signature: signatureOf(action), file: Buffer.from('six ..') });
    expect((await post(gateway.url, form)).status).toBe(202);
    gateway.later(3_600_001);
    const [, anew] = await request(gateway, '1');
    expect(anew).not.toBe(first);
  });

  it('is reserved by the record for as long as the task runs', { tags: ['S3.limits.space'] }, async () => {
    const { download, release } = holding();
    // Three quarters of it are 24 KiB: room for one file of 15 KiB and a rounding, not for two.
    const gateway = await start({ transferSpace: 32 * 1024 }, download);
    const [, first] = await request(gateway, '1');
    expect(await request(gateway, '2')).toEqual([507, 'INSUFFICIENT_STORAGE']);
    expect(await request(gateway, '1'), 'one that joins needs no room').toEqual([202, first]);
    release();
    const states = await historyOf(gateway.url, 'downloads', first);
    expect(states.at(-1), JSON.stringify(states)).toMatchObject({ status: 'sdk:completed' });
    expect(await request(gateway, '2'), 'the file is there').toEqual([507, 'INSUFFICIENT_STORAGE']);
    await gateway.files.sweep({ keepMs: -1, tempMs: 0, isOpen: async () => await Promise.resolve(true) });
    await expect.poll(async () => (await request(gateway, '2'))[0]).toBe(202);
  });

  it('is bounded in downloads of one address, and of all', { tags: ['S3.limits.downloads'] }, async () => {
    const { download, release } = holding();
    const address = await start({ downloadsMaxPerAddress: 1 }, download);
    expect((await request(address, '1'))[0]).toBe(202);
    expect(await request(address, '2')).toEqual([429, 'TOO_MANY_REQUESTS']);
    expect((await request(address, '1'))[0], 'a join takes no turn').toBe(202);
    const all = await start({ downloadsMax: 1 }, download);
    const [, first] = await request(all, '1');
    expect(await request(all, '2')).toEqual([503, 'UNAVAILABLE']);
    release();
    await historyOf(all.url, 'downloads', first);
    await expect.poll(async () => (await request(all, '2'))[0]).toBe(202);
  });
});

it('a private download is joined by the same signature alone', { tags: ['S3.download.joined'] }, async () => {
  const gateway = await start({}, holding().download);
  const signature = signText(creatorKey, '3');
  const [, first] = await request(gateway, '3', signature);
  await expect.poll(async () => (await fetchedBy(gateway)).length).toBe(1);
  expect(await request(gateway, '3', signature)).toEqual([202, first]);
  const bare = Buffer.from(sign(creatorKey, Buffer.from('3'))).subarray(0, 64);
  const [status, other] = await request(gateway, '3', bare.toString('base64'));
  expect([status, other === first]).toEqual([202, false]);
});
