import { randomBytes } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { startTask, newTaskId, recordSteps } from '../../../src/edges/gateway/tasks/task-log.ts';
import { operationsIn } from '../../support/contract/document.ts';
import { contractTimeout, problemsOf } from '../../support/contract/problems.ts';
import { actionOver, type GatewayChanges, type GatewayUnderTest, gatewayUnderTest } from './gateway-under-test.ts';
import { formOf, signatureOf } from './uploading.ts';

const at = new Date().toISOString();

async function start(changes: GatewayChanges = {}): Promise<GatewayUnderTest> {
  const gateway = await gatewayUnderTest(changes);
  onTestFinished(async () => await gateway[Symbol.asyncDispose]());
  return gateway;
}

/** A task that has ended, begun by a gateway of some folder. */
async function endedTask({ log, files }: GatewayUnderTest, direction: 'upload' | 'download', store = files.store) {
  const id = newTaskId();
  const file = { fileName: 'a.bin', size: '10', signature: 'c2ln', dataHash: 'aGFzaA==' };
  const common = { action: '7', at, store };
  const asked = direction === 'upload' ? { direction, ...common, ...file } : { direction, isPrivate: false, ...common };
  const task = await startTask(log, id, asked);
  await recordSteps(log, task, [{ status: 'sdk:completed' }], at);
  return id;
}

it(
  'every refusal says why, and has the code of its status',
  { tags: ['S3.errors.body', 'S3.file.upload'] },
  async () => {
    const gateway = await start({ settings: { uploadMaxSize: 100 } });
    const action = await actionOver(Buffer.from('open'), { chainState: 'expired', isPublic: true });
    gateway.actions.set('7', action);
    gateway.actions.set('8', await actionOver(Buffer.from('kept'), { id: '8', chainState: 'done' }));
    const [uploaded, fetched] = [await endedTask(gateway, 'upload'), await endedTask(gateway, 'download')];
    const form = (file: Uint8Array<ArrayBuffer>) => formOf({ action_id: '7', signature: signatureOf(action), file });
    const cascade = 'api/v1/actions/cascade';
    const json = { 'content-type': 'application/json' };
    const refusals: [string, RequestInit, number, string][] = [
      ['nothing', {}, 404, 'NOT_FOUND'],
      ['api/v1/nothing', { method: 'POST' }, 404, 'NOT_FOUND'],
      [`${cascade}/tasks/x/status`, {}, 404, 'NOT_FOUND'],
      [`api/v1/downloads/cascade/x/status`, {}, 404, 'NOT_FOUND'],
      [`api/v1/downloads/cascade/${uploaded}/file`, {}, 404, 'NOT_FOUND'],
      [`api/v1/downloads/cascade/${fetched}/file`, {}, 410, 'GONE'],
      [`${cascade}/tasks/x`, { method: 'DELETE' }, 405, 'METHOD_NOT_ALLOWED'],
      [
        cascade,
        { method: 'POST', body: 'x', headers: { 'content-type': 'text/plain' } },
        415,
        'UNSUPPORTED_MEDIA_TYPE',
      ],
      [cascade, { method: 'POST', body: form(randomBytes(200_000)) }, 413, 'PAYLOAD_TOO_LARGE'],
      [cascade, { method: 'POST', body: form(randomBytes(4)) }, 409, 'CONFLICT'],
      [cascade, { method: 'POST', body: formOf({}) }, 400, 'INVALID_ARGUMENT'],
      [
        cascade,
        { method: 'POST', body: formOf({ action_id: '7', signature: '', file: randomBytes(4) }) },
        400,
        'INVALID_ARGUMENT',
      ],
      [
        `${cascade}/7/downloads?public=true`,
        { method: 'POST', body: JSON.stringify({ signature: 'a'.repeat(70_000) }), headers: json },
        413,
        'PAYLOAD_TOO_LARGE',
      ],
      [`${cascade}/7/downloads?public=true`, { method: 'POST', headers: json }, 409, 'CONFLICT'],
      [`${cascade}/7/downloads?public=true`, { method: 'POST' }, 409, 'CONFLICT'],
      [`${cascade}/8/downloads?public=true`, { method: 'POST' }, 401, 'UNAUTHORIZED'],
      [`${cascade}/6/downloads`, { method: 'POST' }, 400, 'INVALID_ARGUMENT'],
    ];
    for (const [path, init, status, code] of refusals) {
      const answer = await fetch(`${gateway.url}/${path}`, init);
      const told = `${init.method ?? 'GET'} ${path}`;
      expect([answer.status, await answer.json()], told).toEqual([
        status,
        { error: expect.stringMatching(/../), code },
      ]);
    }
  },
);

it(
  'a download asked for without a right says so before its action is looked for',
  { tags: ['S3.download.unsigned'] },
  async () => {
    const { url } = await start();
    for (const headers of [{}, { 'content-type': 'application/json' }]) {
      const answer = await fetch(`${url}/api/v1/actions/cascade/none/downloads`, { method: 'POST', headers });
      expect(await answer.json()).toEqual({ error: 'signature is required', code: 'INVALID_ARGUMENT' });
    }
  },
);

it('a download is told by the detail of its id, without a signature', { tags: ['S3.detail.download'] }, async () => {
  const gateway = await start();
  const id = await endedTask(gateway, 'download');
  const detail = await fetch(`${gateway.url}/api/v1/actions/cascade/tasks/${id}`);
  expect(await detail.json()).toEqual({
    task_id: id,
    action_id: '7',
    kind: 'download',
    status: 'sdk:completed',
    created_at: at,
  });
});

it('a file that lies with another gateway can be asked for again', { tags: ['S3.two.file'] }, async () => {
  const gateway = await start();
  const id = await endedTask(gateway, 'download', 'elsewhere');
  const answer = await fetch(`${gateway.url}/api/v1/downloads/cascade/${id}/file`);
  expect([answer.status, answer.headers.has('retry-after')]).toEqual([503, true]);
  expect(await answer.json()).toMatchObject({ code: 'UNAVAILABLE' });
});

it(
  'operations are on its port, and HEAD is heard wherever GET is',
  { tags: ['S3.operations', 'S3.head'] },
  async () => {
    const gateway = await start();
    const id = await endedTask(gateway, 'upload');
    const document = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as { paths: Record<string, object> };
    const described = Object.entries(document.paths).flatMap(([path, item]) => ('get' in item ? [path.slice(1)] : []));
    const legacy = described.flatMap((path) => (path.startsWith('api/v1/') ? [path.replace('api/v1/', 'api/')] : []));
    expect(described).toContain('api/v1/uploads/{upload_id}');
    const operations = ['healthz', 'readyz', 'metrics', 'openapi.json', 'docs'];
    for (const template of new Set([...operations, ...described, ...legacy])) {
      const path = template.replace('{action_id}', '7').replace(/{\w+}/, id);
      const [got, head] = await Promise.all(
        ['GET', 'HEAD'].map(async (method) => await fetch(`${gateway.url}/${path}`, { method })),
      );
      expect(head?.status, path).toBe(got?.status);
      expect(head?.headers.get('content-type'), path).toBe(got?.headers.get('content-type'));
      expect(await head?.text()).toBe('');
      expect(await got?.text()).not.toBe('');
    }
  },
);

it('its document holds for requests that fit it and for hostile ones', { timeout: contractTimeout }, async () => {
  const gateway = await start();
  const known = { task_id: [await endedTask(gateway, 'upload'), 'x'], action_id: ['7', '0'] } as const;
  const document = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as Record<string, unknown>;
  const operations = operationsIn(document);
  expect(operations.length).toBeGreaterThan(15);
  const server = { port: Number(new URL(gateway.url).port) };
  const problems: string[] = [];
  for (const operation of operations)
    for (const kind of ['fitting', 'hostile'] as const)
      problems.push(...(await problemsOf(operation, server, { kind, known })));
  expect(problems).toEqual([]);
});

it('its document says of every route whose rate is bounded that it may be', { tags: ['S3.operations'] }, async () => {
  const gateway = await start({ settings: { rateLimit: { quota: 0, windowSeconds: 60 } } });
  const document = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as Record<string, unknown>;
  const judged = operationsIn(document).map(async ({ method, path, judge }) => {
    const answer = await fetch(`${gateway.url}${path}`, { method });
    const contentType = answer.headers.get('content-type') ?? '';
    return answer.status === 429 ? [judge({ status: 429, contentType, text: await answer.text() })] : [];
  });
  const answers = (await Promise.all(judged)).flat();
  expect([answers.length > 20, answers.filter((problem) => problem !== undefined)]).toEqual([true, []]);
});

it('its document names what requests take and streams give', { tags: ['S3.operations'] }, async () => {
  const { url } = await start();
  const answer = await fetch(`${url}/openapi.json`);
  const cascade = '/api/v1/actions/cascade';
  const fields = { action_id: {}, signature: {}, file: {} };
  expect(await answer.json()).toMatchObject({
    paths: {
      [cascade]: {
        post: { requestBody: { content: { 'multipart/form-data': { schema: { properties: fields } } } } },
      },
      [`${cascade}/{action_id}/downloads`]: {
        post: {
          parameters: expect.arrayContaining([expect.objectContaining({ in: 'query', name: 'public' })]) as unknown,
          requestBody: { content: { 'application/json': { schema: { properties: { signature: {} } } } } },
          responses: { 413: {} },
        },
      },
      [`${cascade}/tasks/{task_id}/status`]: {
        get: { responses: { 200: { content: { 'text/event-stream': {}, 'application/json': {} } }, 204: {} } },
      },
    },
  });
});

it(
  'callers are told apart by a forwarded address only behind a trusted proxy',
  { tags: ['S3.limits.proxies'] },
  async () => {
    const rateLimit = { quota: 1, windowSeconds: 3600 };
    const statusesOf = async ({ url }: GatewayUnderTest) => {
      const ask = async (address: string) =>
        (await fetch(`${url}/api/v1/actions/cascade/tasks/x`, { headers: { 'x-forwarded-for': address } })).status;
      return [await ask('203.0.113.1'), await ask('203.0.113.2'), await ask('203.0.113.1')];
    };
    expect(await statusesOf(await start({ settings: { rateLimit } }))).toEqual([404, 429, 429]);
    const trusting = { rateLimit, trustedProxies: ['127.0.0.1'] };
    expect(await statusesOf(await start({ settings: trusting }))).toEqual([404, 404, 429]);
  },
);

it(
  'streams are bounded for all together, and are cut without an end when the gateway stops',
  { tags: ['S3.limits.streams-all', 'S3.stream.shutdown'] },
  async () => {
    const gateway = await gatewayUnderTest({ settings: { sseMax: 1 } });
    const asked = { direction: 'download', isPrivate: false, action: '7', at, store: gateway.files.store } as const;
    const { id } = await startTask(gateway.log, newTaskId(), asked);
    const url = `${gateway.url}/api/v1/downloads/cascade/${id}/status`;
    const stream = await fetch(url);
    const second = await fetch(url);
    expect([second.status, second.headers.has('retry-after')]).toEqual([503, true]);
    await gateway[Symbol.asyncDispose]();
    const text = await stream.text();
    expect(text).toContain('"status":"sdk:started"');
    expect(text).not.toMatch(/^event:/m);
  },
);
