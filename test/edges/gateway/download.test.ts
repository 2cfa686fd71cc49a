import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { signText } from '../../../src/edges/chain/files/signatures.ts';
import { startTask, newTaskId, recordSteps, type Task } from '../../../src/edges/gateway/tasks/task-log.ts';
import { actionOver, creatorKey, type GatewayUnderTest, gatewayUnderTest } from './gateway-under-test.ts';

const at = '2026-01-02T03:04:05.000Z';
let gateway: GatewayUnderTest;
beforeEach(async () => {
  gateway = await gatewayUnderTest({ settings: { sseMaxPerAddress: 2 } });
  const stored = { chainState: 'done' } as const;
  gateway.actions.set('1', await actionOver(Buffer.from('open'), { id: '1', ...stored, isPublic: true }));
  gateway.actions.set('2', await actionOver(Buffer.from('private'), { id: '2', ...stored }));
  gateway.actions.set('3', await actionOver(Buffer.from('early'), { id: '3' }));
});
afterEach(async () => await gateway[Symbol.asyncDispose]());

async function ask(id: string, query = '', signature?: string) {
  const url = `${gateway.url}/api/v1/actions/cascade/${id}/downloads${query}`;
  const body = JSON.stringify(signature === undefined ? {} : { signature });
  const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const json = (await answer.json()) as Record<string, unknown>;
  return { told: `${answer.status} ${json['code'] === undefined ? 'task' : JSON.stringify(json['code'])}`, json };
}

describe('POST …/downloads', () => {
  it('takes true and 1 for public, and nothing else for it', { tags: ['S3.download.public'] }, async () => {
    for (const flag of ['?public=true', '?public=1']) expect((await ask('1', flag)).told).toBe('202 task');
    for (const flag of ['', '?public=', '?public=0', '?public=false'])
      expect((await ask('1', flag)).json['error']).toBe('signature is required');
    for (const flag of ['?public=yes', '?public=true&public=true'])
      expect((await ask('1', flag, 'x')).told).toBe('400 "INVALID_ARGUMENT"');
  });

  it('refuses who may not have the file, or not yet', { tags: ['S3.download.refused'] }, async () => {
    expect((await ask('2', '?public=true')).told).toBe('401 "UNAUTHORIZED"');
    expect((await ask('2', '', signText(creatorKey, '1'))).told).toBe('401 "UNAUTHORIZED"');
    expect((await ask('3', '?public=true')).told).toBe('409 "CONFLICT"');
    expect((await ask('4', '?public=true')).told).toBe('404 "NOT_FOUND"');
    expect((await ask('1', '', 'not looked at')).told).toBe('202 task');
  });

  it('answers 415 to a body of another type, before anything else', { tags: ['S3.download.refused'] }, async () => {
    const url = `${gateway.url}/api/v1/actions/cascade/1/downloads?public=true`;
    const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'text/plain' }, body: '{}' });
    expect([answer.status, await answer.json()]).toMatchObject([415, { code: 'UNSUPPORTED_MEDIA_TYPE' }]);
  });

  it('gives the running task to who asks again', { tags: ['S3.download.joined'] }, async () => {
    const signature = signText(creatorKey, '2');
    const answers = await Promise.all(Array.from({ length: 3 }, async () => await ask('2', '', signature)));
    expect(new Set(answers.map(({ json }) => json['task_id'])).size).toBe(1);
    expect(answers.map(({ told }) => told)).toEqual(['202 task', '202 task', '202 task']);
  });
});

async function ended(): Promise<Task> {
  const { log, files } = gateway;
  const asked = { direction: 'download', isPrivate: true, action: '2', at, store: files.store } as const;
  const task = await startTask(log, newTaskId(), asked);
  return await recordSteps(log, task, [{ status: 'sdk:completed' }], at);
}

describe('GET …/status', () => {
  it('ends with the terminal event repeated by its name', { tags: ['S3.stream.headers'] }, async () => {
    const { id } = await ended();
    const answer = await fetch(`${gateway.url}/api/v1/downloads/cascade/${id}/status`);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    });
    const frames = (await answer.text()).split('\n\n');
    expect(frames[0]).toBe('retry: 3000');
    expect(frames.slice(1, 4).map((frame) => frame.replace(/\ndata: .*/, ''))).toEqual([
      'id: 1',
      'id: 2',
      'id: 2\nevent: sdk:completed',
    ]);
  });

  it('shows all to who names an event that there is not', { tags: ['S3.stream.unknown'] }, async () => {
    const { id } = await ended();
    const url = `${gateway.url}/api/v1/downloads/cascade/${id}/status`;
    for (const place of ['9', 'x', '-1', '0']) {
      const frames = (await (await fetch(url, { headers: { 'last-event-id': place } })).text()).split('\n\n');
      expect(frames[1]).toMatch(/^: no such event/);
      expect(frames[2]).toMatch(/^id: 1\n/);
    }
    expect((await fetch(`${url}?lastEventId=2`)).status).toBe(204);
    expect(await (await fetch(`${url}?lastEventId=1`)).text()).not.toContain('id: 1\n');
  });

  it('bounds the streams of one address', { tags: ['S3.limits.streams'] }, async () => {
    const { log, files } = gateway;
    const asked = { direction: 'download', isPrivate: true, action: '2', at, store: files.store } as const;
    const { id } = await startTask(log, newTaskId(), asked);
    const url = `${gateway.url}/api/v1/downloads/cascade/${id}/status`;
    const leaving = new AbortController();
    await Promise.all([1, 2].map(async () => await fetch(url, { signal: leaving.signal })));
    const third = await fetch(url);
    expect([third.status, third.headers.has('retry-after')]).toEqual([503, true]);
    leaving.abort();
  });

  it('tells scripts of other origins what they may read', { tags: ['S3.cors'] }, async () => {
    const answer = await fetch(`${gateway.url}/api/v1/downloads/cascade/x/file`, { headers: { origin: 'http://a.b' } });
    expect(answer.headers.get('access-control-expose-headers')).toMatch(/ETag.*Content-Range.*Retry-After.*RateLimit/);
    const asked = { origin: 'http://a.b', 'access-control-request-method': 'GET' };
    const wanted = 'last-event-id,range,content-type';
    const preflight = await fetch(`${gateway.url}/api/v1/downloads/cascade/x/file`, {
      method: 'OPTIONS',
      headers: { ...asked, 'access-control-request-headers': wanted },
    });
    expect(preflight.headers.get('access-control-allow-headers')).toBe(wanted);
  });
});
