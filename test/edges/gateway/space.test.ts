import { appendFileSync } from 'node:fs';
import { statfs, writeFile } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createSpace, roomCheck } from '../../../src/edges/gateway/intake/space.ts';
import { freshFolder } from '../../support/programs/fresh-folder.ts';
import { actionOver, type GatewayUnderTest, gatewayUnderTest } from './gateway-under-test.ts';
import { leftOvers, signatureOf } from './uploading.ts';

const full = { code: 'INSUFFICIENT_STORAGE' };

/** What is free on the volume of a folder, and what of it nobody gets: a tenth of all, or 5 GiB where that is less. */
async function volumeOf(folder: string) {
  const { bavail, blocks, bsize } = await statfs(folder);
  return { free: bavail * bsize, kept: Math.min(blocks * bsize * 0.1, 5 * 2 ** 30) };
}

async function start(): Promise<GatewayUnderTest> {
  const gateway = await gatewayUnderTest({ settings: { uploadMaxSize: 2 ** 52 } });
  onTestFinished(async () => await gateway[Symbol.asyncDispose]());
  return gateway;
}

/** Says how many bytes will come, and sends none of them. */
async function declare(url: string, headers: Record<string, string>) {
  const request = httpRequest(url, { method: 'POST', headers });
  request.on('error', () => undefined);
  request.flushHeaders();
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  const json = JSON.parse(await text(answer)) as Record<string, unknown>;
  request.destroy();
  return [answer.statusCode, json['code']];
}

describe('room on the volume', () => {
  it('is never given out to the last tenth or 5 GiB of it', { tags: ['S3.limits.volume'] }, async () => {
    const { folder, remove } = freshFolder();
    onTestFinished(remove);
    const { free, kept } = await volumeOf(folder);
    const space = createSpace(folder, undefined);
    // Others write to the volume meanwhile: half of what is kept is more than they do.
    const reserve = async (bytes: number) => await space.reserve(`${folder}/${bytes}`, bytes, 'upload');
    await expect(reserve(free - kept / 2)).rejects.toMatchObject(full);
    await expect(space.require(free - kept / 2, 'upload')).rejects.toMatchObject(full);
    const most = free - 1.5 * kept;
    const { release } = await reserve(most);
    await expect(reserve(kept), 'what is promised counts').rejects.toMatchObject(full);
    release();
    (await reserve(most)).release();
    await expect(space.require(most, 'download'), 'uploads keep a part').rejects.toMatchObject(full);
  });

  it('counts what a reserved file lacks, not what of it is there', { tags: ['S3.limits.space'] }, async () => {
    const { folder, remove } = freshFolder();
    onTestFinished(remove);
    const space = createSpace(folder, 1_000);
    const file = path.join(folder, 'one');
    const { extendTo } = await space.reserve(file, 600, 'upload');
    await writeFile(file, Buffer.alloc(500));
    await space.require(400, 'upload');
    await expect(space.require(401, 'upload')).rejects.toMatchObject(full);
    await expect(extendTo(1_001)).rejects.toMatchObject(full);
    await extendTo(1_000);
    await space.reserve(file, 900, 'upload');
    await expect(space.require(1, 'upload')).rejects.toMatchObject(full);
  });

  it('counts once the bytes that come while it is asked for', { tags: ['S3.limits.space'] }, async () => {
    const { folder, remove } = freshFolder();
    onTestFinished(remove);
    const space = createSpace(folder, 1_000_000);
    const file = path.join(folder, 'one');
    await space.reserve(file, 900_000, 'upload');
    for (let round = 0; round < 20; round++) {
      await writeFile(file, '');
      const asked = space.require(100_000, 'upload').then(() => 'let in', String);
      for (let size = 0; size < 900_000; size += 30_000) {
        appendFileSync(file, Buffer.alloc(30_000));
        await nextTurn();
      }
      expect(await asked).toBe('let in');
    }
  });

  it('is warned of by /readyz once it is gone, until there is some again', { tags: ['S3.limits.space'] }, async () => {
    const { folder, remove } = freshFolder();
    onTestFinished(remove);
    const space = createSpace(folder, 1_000);
    const { look } = roomCheck(space);
    expect(await look()).toEqual({});
    const { release } = await space.reserve(path.join(folder, 'one'), 1_000, 'upload');
    expect((await look()).warnings).toMatchObject([{ component: 'transfers' }]);
    release();
    expect(await look()).toEqual({});
  });

  it('is asked for before any byte of a form', { tags: ['S3.limits.volume'] }, async () => {
    const gateway = await start();
    const { free, kept } = await volumeOf(gateway.files.folder);
    const told = await declare(`${gateway.url}/api/v1/actions/cascade`, {
      'content-type': 'multipart/form-data; boundary=b',
      'content-length': String(Math.floor(free - kept / 2)),
    });
    expect(told).toEqual([507, 'INSUFFICIENT_STORAGE']);
    expect(await leftOvers(gateway)).toEqual([]);
  });

  it('is asked for before any byte of an upload in several requests', { tags: ['S3.limits.volume'] }, async () => {
    const gateway = await start();
    const action = await actionOver(Buffer.from('a file'));
    gateway.actions.set('7', action);
    const { free, kept } = await volumeOf(gateway.files.folder);
    const told = await declare(`${gateway.url}/api/v1/uploads`, {
      'annals-action-id': '7',
      'annals-signature': signatureOf(action),
      'content-type': 'application/octet-stream',
      'upload-complete': '?1',
      'content-length': String(Math.floor(free - kept / 2)),
    });
    expect(told).toEqual([507, 'INSUFFICIENT_STORAGE']);
  });
});
