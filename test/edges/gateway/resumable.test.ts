import { randomBytes } from 'node:crypto';
import { readdir, readFile, utimes } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/kit/errors.ts';
import { signText } from '../../../src/edges/chain/files/signatures.ts';
import { findTask } from '../../../src/edges/gateway/tasks/task-log.ts';
import type { Log } from '../../../src/engine/log/log.ts';
import { freshFolder } from '../../support/programs/fresh-folder.ts';
import { freshNetwork } from '../../support/programs/servers.ts';
import { seeded } from '../../support/histories/random-history.ts';
import {
  actionOver,
  creatorKey,
  type GatewayChanges,
  type GatewayUnderTest,
  gatewayUnderTest,
} from './gateway-under-test.ts';
import { foreverMs, waiting } from './misdeeds.ts';
import { goodNode, serveNodes } from './nodes-under-test.ts';

const bytes = randomBytes(1_500_000);
const started: GatewayUnderTest[] = [];
afterEach(async () => {
  for (const one of started.splice(0)) await one[Symbol.asyncDispose]();
});

type Headers = Record<string, string>;

/** A gateway whose chain has action 7 over the bytes, and what its creator says first. */
async function start(changes: GatewayChanges = {}) {
  const nodes = await serveNodes(goodNode(bytes), [waiting]);
  const chain = { storers: async () => await Promise.resolve({ nodes, total: 1 }) };
  const gateway = await gatewayUnderTest({ chain, stallMs: foreverMs, ...changes });
  started.push(gateway);
  const action = await actionOver(bytes);
  gateway.actions.set('7', action);
  const opening = { 'annals-action-id': '7', 'annals-signature': signText(creatorKey, action.file?.dataHash ?? '') };
  return { gateway, opening };
}

async function ask(url: string, method: string, headers: Headers = {}, body?: Uint8Array<ArrayBuffer>) {
  const answer = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
  const text = await answer.text();
  const json = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  return { status: answer.status, headers: answer.headers, json, offset: answer.headers.get('upload-offset') };
}

async function begun({ gateway, opening }: Awaited<ReturnType<typeof start>>, headers: Headers = {}): Promise<string> {
  const answer = await ask(`${gateway.url}/api/v1/uploads`, 'POST', {
    ...opening,
    'upload-complete': '?0',
    ...headers,
  });
  expect([answer.status, answer.offset, answer.headers.get('upload-complete')]).toEqual([201, '0', '?0']);
  expect(answer.headers.get('upload-limit')).toBe('max-size=1073741824, max-age=3600');
  return gateway.url + String(answer.headers.get('location'));
}

async function patch(upload: string, from: number, to: number, headers: Headers = {}) {
  const complete = to === bytes.length ? '?1' : '?0';
  const told = {
    'content-type': 'application/partial-upload',
    'upload-offset': String(from),
    'upload-complete': complete,
  };
  return await ask(upload, 'PATCH', { ...told, ...headers }, bytes.subarray(from, to));
}

/** Sends some of the bytes that it declares, and then cuts the connection, or lets it hang. */
async function sendSome(upload: string, from: number, to: number, { cut }: { cut: boolean }): Promise<() => void> {
  const headers = {
    'content-type': 'application/partial-upload',
    'upload-offset': String(from),
    'upload-complete': '?1',
  };
  const request = httpRequest(upload, {
    method: 'PATCH',
    headers: { ...headers, 'content-length': String(bytes.length - from) },
  });
  request.on('error', () => undefined);
  await new Promise<void>((resolve) => request.write(bytes.subarray(from, to), () => resolve()));
  if (cut) request.destroy();
  return () => void request.destroy();
}

async function stored({ files }: GatewayUnderTest, task: unknown): Promise<Buffer> {
  return await readFile(files.uploadOf(String(task)));
}

describe('uploads that can be resumed', () => {
  it('become a task with the last byte', { tags: ['S3.resumable'] }, async () => {
    const { gateway, ...rest } = await start();
    const upload = await begun(
      { gateway, ...rest },
      { 'content-disposition': `attachment; filename*=UTF-8''a%20b.bin` },
    );
    const first = await patch(upload, 0, 1_000_000);
    expect([first.status, first.offset]).toEqual([204, '1000000']);
    const head = await fetch(upload, { method: 'HEAD' });
    expect([head.status, head.headers.get('upload-offset'), head.headers.get('cache-control')]).toEqual([
      200,
      '1000000',
      'no-store',
    ]);
    const last = await patch(upload, 1_000_000, bytes.length);
    expect([last.status, last.headers.get('upload-complete')]).toEqual([202, '?1']);
    const task = last.json['task_id'];
    expect((await stored(gateway, task)).equals(bytes)).toBe(true);
    const detail = await ask(`${gateway.url}/api/v1/actions/cascade/tasks/${String(task)}`, 'GET');
    expect(detail.json).toMatchObject({ action_id: '7', file_name: 'a b.bin' });
    expect((await ask(upload, 'GET')).json).toEqual({
      action_id: '7',
      offset: bytes.length,
      complete: true,
      task_id: task,
    });
    const again = await patch(upload, bytes.length, bytes.length);
    expect([again.status, again.json]).toMatchObject([400, { code: 'INVALID_ARGUMENT', task_id: task }]);
    expect(again.json['type']).toMatch(/#completed-upload$/);
  });

  it('may come whole in the first request', { tags: ['S3.resumable'] }, async () => {
    const { gateway, opening } = await start();
    const answer = await ask(`${gateway.url}/api/v1/uploads`, 'POST', { ...opening, 'upload-complete': '?1' }, bytes);
    expect([answer.status, answer.offset]).toEqual([202, String(bytes.length)]);
    expect((await stored(gateway, answer.json['task_id'])).equals(bytes)).toBe(true);
  });

  it('go on after every break with what came, byte for byte', { tags: ['S3.resumable.breaks'] }, async () => {
    const { gateway, ...rest } = await start();
    const upload = await begun({ gateway, ...rest }, { 'upload-length': String(bytes.length) });
    let from = 0;
    const random = seeded(7);
    for (let cut = 0; cut < 20; cut += 1) {
      const to = from + random.below(Math.ceil((bytes.length - from) / 3));
      await sendSome(upload, from, to, { cut: true });
      const { offset } = await ask(upload, 'GET');
      expect(Number(offset)).toBeGreaterThanOrEqual(from);
      expect(Number(offset)).toBeLessThanOrEqual(to);
      from = Number(offset);
    }
    const last = await patch(upload, from, bytes.length);
    expect(last.status).toBe(202);
    expect((await stored(gateway, last.json['task_id'])).equals(bytes)).toBe(true);
  });

  it('are not held up by a connection that hangs', { tags: ['S3.resumable.breaks'] }, async () => {
    const { gateway, ...rest } = await start();
    const upload = await begun({ gateway, ...rest });
    const end = await sendSome(upload, 0, 70_000, { cut: false });
    const { offset } = await ask(upload, 'GET');
    expect((await patch(upload, Number(offset), bytes.length)).status).toBe(202);
    end();
  });

  it('refuse bytes of another place or number', { tags: ['S3.resumable.refusals'] }, async () => {
    const { gateway, ...rest } = await start();
    const upload = await begun({ gateway, ...rest }, { 'upload-length': String(bytes.length) });
    await patch(upload, 0, 1_000);
    const elsewhere = await patch(upload, 500, 2_000);
    expect([elsewhere.status, elsewhere.offset, elsewhere.headers.get('content-type')]).toEqual([
      409,
      '1000',
      'application/problem+json; charset=utf-8',
    ]);
    expect(elsewhere.json).toMatchObject({ code: 'CONFLICT', 'expected-offset': 1_000, 'provided-offset': 500 });
    const other = await patch(upload, 1_000, 2_000, { 'upload-length': '7' });
    expect([other.status, other.json['type']]).toEqual([400, expect.stringMatching(/#inconsistent-upload-length$/)]);
    const early = await patch(upload, 1_000, 2_000, { 'upload-complete': '?1' });
    expect([early.status, early.json['type']]).toEqual([400, expect.stringMatching(/#inconsistent-upload-length$/)]);
    expect((await patch(upload, 2_000, 3_000, { 'content-type': 'text/plain' })).status).toBe(415);
    expect((await patch(upload, 2_000, 3_000, { 'upload-complete': 'yes' })).status).toBe(400);
    expect((await patch(`${gateway.url}/api/v1/uploads/${'0'.repeat(32)}`, 0, 10)).status).toBe(404);
    expect((await patch(`${gateway.url}/api/v1/uploads/..%2Fx`, 0, 10)).status).toBe(404);
    expect((await patch(upload, 2_000, bytes.length)).status).toBe(202);
  });

  it('refuse what the form refuses, before any byte', { tags: ['S3.resumable.refusals'] }, async () => {
    const { gateway, opening } = await start();
    gateway.actions.set('9', await actionOver(bytes, { id: '9', chainState: 'done' }));
    const post = async (headers: Headers) => {
      const { status, json } = await ask(`${gateway.url}/api/v1/uploads`, 'POST', {
        ...opening,
        'upload-complete': '?0',
        ...headers,
      });
      return [status, json['code']];
    };
    expect(await post({ 'annals-action-id': '' })).toEqual([400, 'INVALID_ARGUMENT']);
    expect(await post({ 'annals-action-id': '8' })).toEqual([404, 'NOT_FOUND']);
    expect(await post({ 'annals-action-id': '9' })).toEqual([409, 'CONFLICT']);
    expect(await post({ 'annals-signature': 'AAAA' })).toEqual([400, 'UNAUTHORIZED']);
    expect(await post({ 'upload-complete': '1' })).toEqual([400, 'INVALID_ARGUMENT']);
    expect(await post({ 'upload-length': String(2 ** 31) })).toEqual([413, 'PAYLOAD_TOO_LARGE']);
    expect(await post({ 'content-encoding': 'gzip' })).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
    expect(await readdir(path.join(gateway.files.folder, 'partial'))).toEqual([]);
  });

  it('of wrong bytes are gone', { tags: ['S3.resumable.refusals'] }, async () => {
    const { gateway, opening } = await start();
    const headers = { ...opening, 'upload-complete': '?1' };
    const answer = await ask(`${gateway.url}/api/v1/uploads`, 'POST', headers, randomBytes(1_000));
    expect([answer.status, answer.json['code']]).toEqual([400, 'INVALID_ARGUMENT']);
    expect(await readdir(path.join(gateway.files.folder, 'partial'))).toEqual([]);
  });

  it('are given up by DELETE, and by age', { tags: ['S3.resumable.age'] }, async () => {
    const { gateway, ...rest } = await start();
    const folder = path.join(gateway.files.folder, 'partial');
    const [given, old, fresh] = [
      await begun({ gateway, ...rest }),
      await begun({ gateway, ...rest }),
      await begun({ gateway, ...rest }),
    ];
    expect((await ask(given, 'DELETE')).status).toBe(204);
    expect((await ask(given, 'GET')).status).toBe(404);
    const long = new Date(Date.now() - 3_700_000);
    for (const name of await readdir(folder)) await utimes(path.join(folder, name), long, long);
    await patch(fresh, 0, 10);
    await gateway.files.sweep({
      keepMs: 3_600_000,
      tempMs: 3_600_000,
      isOpen: async () => await Promise.resolve(false),
    });
    expect((await ask(old, 'GET')).status).toBe(404);
    expect((await ask(fresh, 'GET')).offset).toBe('10');
  });
});

describe('the last byte of a resumable upload', () => {
  const away = (): never => {
    throw new AppError('UNAVAILABLE', 'The broker does not answer');
  };

  it(
    'that meets a broker which is away is not lost, and is sent once more without any byte',
    { tags: ['S3.resumable.broker-away'] },
    async () => {
      let isAway = true;
      const refused = (log: Log): Log => ({
        ...log,
        append: async (...batch) => (isAway ? away() : await log.append(...batch)),
      });
      const world = await start({ log: refused });
      const upload = await begun(world, { 'upload-length': String(bytes.length) });
      expect((await patch(upload, 0, 700_000)).status).toBe(204);
      expect((await patch(upload, 700_000, bytes.length)).status).toBe(503);
      const kept = await ask(upload, 'HEAD');
      expect([kept.status, kept.offset, kept.headers.get('upload-complete')]).toEqual([200, `${bytes.length}`, '?0']);
      isAway = false;
      const whole = await patch(upload, bytes.length, bytes.length);
      expect(whole.status).toBe(202);
      const task = String(whole.json['task_id']);
      expect((await readFile(world.gateway.files.uploadOf(task))).equals(bytes)).toBe(true);
      expect((await ask(upload, 'GET')).json).toMatchObject({ complete: true, task_id: task });
    },
  );

  it(
    'whose answer was lost, or whose gateway died then, is the task that it began',
    { tags: ['S3.resumable.broker-away'] },
    async () => {
      const unanswered = (log: Log): Log => ({
        ...log,
        append: async (...batch) => {
          await log.append(...batch);
          return away();
        },
      });
      const network = freshNetwork();
      const { folder, remove } = freshFolder();
      const world = await start({ log: unanswered, network, folder });
      const upload = await begun(world, { 'upload-length': String(bytes.length) });
      expect((await patch(upload, 0, bytes.length)).status).toBe(503);
      for (const one of started.splice(0)) await one[Symbol.asyncDispose]();
      const { gateway } = await start({ network, folder });
      const again = upload.replace(world.gateway.url, gateway.url);
      const [task = ''] = await gateway.stored();
      expect((await ask(again, 'GET')).json).toMatchObject({ complete: true, task_id: task });
      expect((await findTask(gateway.log, task))?.known.action).toBe('7');
      for (const one of started.splice(0)) await one[Symbol.asyncDispose]();
      remove();
    },
  );
});
