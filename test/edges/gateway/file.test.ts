import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTask, newTaskId, recordSteps, type Task } from '../../../src/edges/gateway/tasks/task-log.ts';
import { actionOver, type GatewayUnderTest, gatewayUnderTest } from './gateway-under-test.ts';

const at = '2026-01-02T03:04:05.000Z';
const bytes = Buffer.from(Array.from({ length: 1000 }, (_, index) => index % 251));
let gateway: GatewayUnderTest;
let path: string;
let etag: string;

beforeAll(async () => {
  gateway = await gatewayUnderTest();
  const action = await actionOver(bytes, { chainState: 'done', name: '../Übung "1".bin' });
  gateway.actions.set('7', action);
  etag = `"${action.file?.dataHash}"`;
  path = pathOf(await fetchedTask());
});
afterAll(async () => await gateway[Symbol.asyncDispose]());

const pathOf = ({ id }: Task) => `/api/v1/downloads/cascade/${id}/file`;

/** A private download; with a file, one that has completed. */
async function privateTask(status?: 'sdk:completed' | 'sdk:failed'): Promise<Task> {
  const { log, files } = gateway;
  const asked = { direction: 'download', isPrivate: true, action: '7', at, store: files.store } as const;
  const task = await startTask(log, newTaskId(), asked);
  const detail = status === 'sdk:failed' ? { error: 'no node had it' } : {};
  return status ? await recordSteps(log, task, [{ status, detail }], at) : task;
}

async function fetchedTask(): Promise<Task> {
  const task = await privateTask('sdk:completed');
  await writeFile(gateway.files.fetchedOf(task.name), bytes);
  return task;
}

async function ask(headers: Record<string, string> = {}, { method = 'GET', of = path } = {}) {
  const answer = await fetch(gateway.url + of, { method, headers });
  const body = Buffer.from(await answer.arrayBuffer());
  return { status: answer.status, headers: answer.headers, body };
}

describe('GET …/file', () => {
  it('gives the bytes with a strong tag of their content and a safe name', { tags: ['S3.file.headers'] }, async () => {
    const { status, headers, body } = await ask();
    expect(status).toBe(200);
    expect(body.equals(bytes)).toBe(true);
    expect(Object.fromEntries(headers)).toMatchObject({
      etag,
      'content-type': 'application/octet-stream',
      'content-length': '1000',
      'x-content-type-options': 'nosniff',
      'accept-ranges': 'bytes',
      'content-disposition': `attachment; filename="_bung _1_.bin"; filename*=UTF-8''%C3%9Cbung%20%221%22.bin`,
    });
  });

  it('answers HEAD without a body', { tags: ['S3.file.head'] }, async () => {
    const { status, headers, body } = await ask({ range: 'bytes=0-1' }, { method: 'HEAD' });
    expect([status, headers.get('content-length'), headers.get('etag'), body.length]).toEqual([200, '1000', etag, 0]);
  });

  it('gives one range as it is and several in parts', { tags: ['S3.file.ranges'] }, async () => {
    const one = await ask({ range: 'bytes=10-19' });
    expect([one.status, one.headers.get('content-range')]).toEqual([206, 'bytes 10-19/1000']);
    expect(one.body.equals(bytes.subarray(10, 20))).toBe(true);
    const last = await ask({ range: 'bytes=-5' });
    expect(last.body.equals(bytes.subarray(995))).toBe(true);
    const several = await ask({ range: 'bytes=0-1,500-502' });
    const boundary = /boundary=(\w+)/.exec(several.headers.get('content-type') ?? '')?.[1];
    expect(several.status).toBe(206);
    expect(several.body.length).toBe(Number(several.headers.get('content-length')));
    const parts = several.body.toString('latin1').split(`--${boundary}`);
    expect(parts.slice(1, 3).map((part) => part.trim().split('\r\n')[1])).toEqual([
      'Content-Range: bytes 0-1/1000',
      'Content-Range: bytes 500-502/1000',
    ]);
    expect(parts[2]?.slice(-5)).toBe(`${bytes.subarray(500, 503).toString('latin1')}\r\n`);
    expect(parts.at(-1)).toBe('--\r\n');
  });

  it('ignores ill-formed ranges and refuses those beyond the end', { tags: ['S3.file.ranges'] }, async () => {
    expect((await ask({ range: 'bytes=9-1' })).status).toBe(200);
    const beyond = await ask({ range: 'bytes=1000-' });
    expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, 'bytes */1000']);
    expect(JSON.parse(beyond.body.toString())).toMatchObject({ code: 'RANGE_NOT_SATISFIABLE' });
  });

  it('hears If-Range where it is strong and If-None-Match', { tags: ['S3.file.conditions'] }, async () => {
    const statusOf = async (headers: Record<string, string>) => (await ask(headers)).status;
    const range = 'bytes=0-0';
    expect(await statusOf({ range, 'if-range': etag })).toBe(206);
    expect(await statusOf({ range, 'if-range': `W/${etag}` })).toBe(200);
    expect(await statusOf({ range, 'if-range': 'Fri, 02 Jan 2026 03:04:05 GMT' })).toBe(200);
    expect(await statusOf({ 'if-none-match': etag })).toBe(304);
    for (const match of [etag, '*', `"other", ${etag}`]) expect(await statusOf({ range, 'if-match': match })).toBe(206);
    for (const match of ['"other"', `W/${etag}`, 'other'])
      expect(await statusOf({ range, 'if-match': match, 'if-none-match': etag })).toBe(412);
    expect(await statusOf({ 'if-none-match': `"other", W/${etag}` })).toBe(304);
    expect(await statusOf({ 'if-none-match': '*', range })).toBe(304);
    expect(await statusOf({ 'if-none-match': '"other"' })).toBe(200);
  });

  it('answers 409 before the end and after a failure, with the reason', { tags: ['S3.file.early'] }, async () => {
    const early = await ask({}, { of: pathOf(await privateTask()) });
    expect([early.status, early.headers.get('retry-after')]).toEqual([409, '1']);
    const failed = await ask({}, { of: pathOf(await privateTask('sdk:failed')) });
    expect(failed.status).toBe(409);
    expect(failed.body.toString()).toContain('no node had it');
  });

  it('answers 404 for unknown ids, whatever they look like', { tags: ['S3.task.unknown'] }, async () => {
    for (const id of ['0'.repeat(32), 'x', '..%2f', '%00'])
      for (const route of [
        `downloads/cascade/${id}/file`,
        `actions/cascade/tasks/${id}`,
        `downloads/cascade/${id}/history`,
      ])
        expect((await ask({}, { of: `/api/v1/${route}` })).status, route).toBe(404);
  });

  it('answers 410 once the file is kept no longer', { tags: ['S3.file.gone'] }, async () => {
    const task = await fetchedTask();
    gateway.later(3_600_001);
    expect((await ask({}, { of: pathOf(task) })).status).toBe(410);
    gateway.later(-3_600_001);
    expect((await ask({}, { of: pathOf(task) })).status).toBe(200);
  });
});
