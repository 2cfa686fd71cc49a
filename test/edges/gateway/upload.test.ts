import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { signText } from '../../../src/edges/chain/files/signatures.ts';
import { findTask, statesOf } from '../../../src/edges/gateway/tasks/task-log.ts';
import {
  actionOver,
  creatorKey,
  type GatewayChanges,
  type GatewayUnderTest,
  gatewayUnderTest,
  sense,
} from './gateway-under-test.ts';
import { formOf, leftOvers, post, signatureOf, taskIn } from './uploading.ts';

const bytes = randomBytes(300_000);
const started: GatewayUnderTest[] = [];
afterEach(async () => {
  for (const one of started.splice(0)) await one[Symbol.asyncDispose]();
});

/** A gateway whose chain has action 7 over the bytes. */
async function start(changes: GatewayChanges = {}, of: Parameters<typeof actionOver>[1] = {}) {
  const gateway = await gatewayUnderTest(changes);
  started.push(gateway);
  const action = await actionOver(bytes, of);
  gateway.actions.set('7', action);
  return { gateway, action };
}

/** Sends the head of a form and then waits; the status that is answered, and how many bytes were sent by then. */
async function headAlone(url: string, head: string, length: number) {
  const headers = { 'content-type': 'multipart/form-data; boundary=b', 'content-length': String(length) };
  const request = httpRequest(`${url}/api/v1/actions/cascade`, { method: 'POST', headers });
  request.on('error', () => undefined);
  request.write(head);
  const [{ statusCode }] = (await once(request, 'response')) as [IncomingMessage];
  request.destroy();
  return { answered: statusCode, sent: Buffer.byteLength(head) };
}

describe('POST /api/v1/actions/cascade', () => {
  it(
    'answers 202 once the bytes are right and signed',
    { tags: ['S3.upload.accepted', 'S3.detail', 'S3.upload.parts', 'S3.nodes.without-indexer', 'S3.task.id'] },
    async () => {
      const { gateway, action } = await start();
      const signature = signatureOf(action);
      const answer = await post(gateway.url, formOf({ file: bytes, signature, extra: 'x', action_id: '7' }));
      const id = taskIn(answer);
      expect(id).toMatch(/^[\da-f]{32}$/);
      expect([answer.status, answer.json]).toEqual([202, { task_id: id, taskId: id }]);
      const task = await findTask(gateway.log, id);
      const first = task && (await statesOf(gateway.log, task, 0).next()).value;
      expect(first).toMatchObject({ number: 1, status: 'sdk:started' });
      const detail = await fetch(`${gateway.url}/api/v1/actions/cascade/tasks/${id}`);
      expect(await detail.json()).toMatchObject({
        task_id: id,
        action_id: '7',
        file_name: '..file.bin',
        file_path: `uploads/${id}`,
        file_size_kbs: 293,
        signature,
      });
    },
  );

  it('reads its action before its bytes and after them, and not once more to begin', async () => {
    let reads = 0;
    const atNodes: number[] = [];
    const { gateway, action } = await start({
      chain: {
        action: async (id) => {
          reads += 1;
          return await Promise.resolve(gateway.actions.get(id));
        },
        storers: async () => {
          atNodes.push(reads);
          return await Promise.resolve({ nodes: [{ account: 'lumera1deaf', ip: '127.9.9.9', port: 4444 }], total: 1 });
        },
      },
    });
    const form = formOf({ action_id: '7', signature: signatureOf(action), file: bytes });
    expect((await post(gateway.url, form)).status).toBe(202);
    // The nodes are read to judge it, and then to send it.
    await expect.poll(() => atNodes).toEqual([2, 2]);
  });

  it('names all that is missing, and refuses what is given twice', { tags: ['S3.upload.fields'] }, async () => {
    const { gateway } = await start();
    const missing = await post(gateway.url, formOf({ action_id: '', other: 'x' }));
    expect([missing.status, missing.code]).toEqual([400, 'INVALID_ARGUMENT']);
    expect(missing.error).toContain('lacks action_id, signature, file');
    const twice = formOf({ action_id: '7' });
    twice.append('action_id', '7');
    expect((await post(gateway.url, twice)).status).toBe(400);
    const many = formOf(Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`f${index}`, 'x'])));
    expect((await post(gateway.url, many)).status).toBe(400);
  });

  it('refuses by action, state, hash and signature in that order', { tags: ['S3.upload.order'] }, async () => {
    const { gateway, action } = await start();
    const wrong = { signature: 'AAAA', file: randomBytes(10) };
    const unknown = await post(gateway.url, formOf({ action_id: '8', ...wrong }));
    expect([unknown.status, unknown.code, unknown.headers.get('retry-after')]).toEqual([404, 'NOT_FOUND', '3']);
    expect((await post(gateway.url, formOf({ action_id: '../x', ...wrong }))).code).toBe('NOT_FOUND');
    expect((await post(gateway.url, formOf({ action_id: sense, ...wrong }))).code).toBe('INVALID_ARGUMENT');
    gateway.actions.set('9', await actionOver(bytes, { id: '9', chainState: 'done' }));
    expect((await post(gateway.url, formOf({ action_id: '9', ...wrong }))).code).toBe('CONFLICT');
    const hash = await post(gateway.url, formOf({ action_id: '7', ...wrong }));
    expect([hash.status, hash.code]).toEqual([400, 'INVALID_ARGUMENT']);
    const reasons = await Promise.all(
      ['AAAA', signText(creatorKey, 'other'), signatureOf(action).replace(/.$/, '*')].map(
        async (signature) => await post(gateway.url, formOf({ action_id: '7', signature, file: bytes })),
      ),
    );
    expect(reasons.map(({ status, code }) => [status, code])).toEqual(
      Array.from({ length: 3 }, () => [400, 'UNAUTHORIZED']),
    );
    expect(new Set(reasons.map(({ error }) => error)).size).toBe(1);
    expect(await leftOvers(gateway)).toEqual([]);
  });

  it('reads no file of an action that it can refuse', { tags: ['S3.upload.early'] }, async () => {
    const { gateway } = await start();
    for (const [first, then, status] of [
      ['action_id', 'signature', 404],
      ['signature', 'action_id', 404],
      ['action_id', 'action_id', 400],
    ] as const) {
      const head = [first, then].map((name) => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n8\r\n`);
      const file = '--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n' + 'x'.repeat(1_000);
      const { answered, sent } = await headAlone(gateway.url, head.join('') + file, 20_000_000);
      // The answer comes though next to nothing of the file was sent.
      expect([answered, sent]).toEqual([status, Buffer.byteLength(head.join('') + file)]);
    }
    expect(await leftOvers(gateway)).toEqual([]);
  });

  it('takes no large file before it knows the action', { tags: ['S3.upload.unnamed-action'] }, async () => {
    const { gateway } = await start();
    const large = randomBytes(9 * 2 ** 20);
    const late = formOf({ file: large, action_id: '7', signature: 'x' });
    const answer = await post(gateway.url, late);
    expect([answer.status, answer.code]).toEqual([400, 'INVALID_ARGUMENT']);
    expect(answer.error).toContain('before file');
    expect(await leftOvers(gateway)).toEqual([]);
  });

  it('reserves room for what was sent, not for what was declared', { tags: ['S3.limits.steps'] }, async () => {
    const { gateway, action } = await start({ settings: { transferSpace: 120 * 2 ** 20 } });
    const head = '--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n';
    const idle = Array.from({ length: 6 }, () => {
      const request = httpRequest(`${gateway.url}/api/v1/actions/cascade`, {
        method: 'POST',
        headers: { 'content-type': 'multipart/form-data; boundary=b', 'content-length': 40 * 2 ** 20 },
      });
      request.on('error', () => undefined);
      request.write(head + 'x'.repeat(1_000));
      return request;
    });
    await expect.poll(async () => (await leftOvers(gateway)).length).toBe(idle.length);
    const fields = { action_id: '7', signature: signatureOf(action), file: bytes };
    expect((await post(gateway.url, formOf(fields))).status).toBe(202);
    for (const request of idle) request.destroy();
  });

  it('answers 415 to other types and encodings, 400 without a boundary', { tags: ['S3.upload.type'] }, async () => {
    const { gateway } = await start();
    const json = await post(gateway.url, '{}', { 'content-type': 'application/json' });
    expect([json.status, json.code]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
    expect((await post(gateway.url, 'x', { 'content-type': 'multipart/form-data' })).status).toBe(400);
    const encoded = await post(gateway.url, formOf({ action_id: '7' }), { 'content-encoding': 'gzip' });
    expect([encoded.status, encoded.code]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
  });

  it('takes a file of the largest size, none of a byte more', { tags: ['S3.upload.size'] }, async () => {
    const { gateway, action } = await start({ settings: { uploadMaxSize: bytes.length } });
    const fields = { action_id: '7', signature: signatureOf(action) };
    const larger = await post(gateway.url, formOf({ ...fields, file: randomBytes(bytes.length + 1) }));
    expect([larger.status, larger.code]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
    const declared = await post(gateway.url, formOf({ ...fields, file: randomBytes(bytes.length + 100_000) }));
    expect(declared.status).toBe(413);
    expect((await post(gateway.url, formOf({ ...fields, file: bytes }))).status).toBe(202);
  });

  it('gives uploads of one action at once the same task', { tags: ['S3.upload.joined', 'C8.10'] }, async () => {
    const { gateway, action } = await start();
    const fields = { action_id: '7', signature: signatureOf(action), file: bytes };
    const answers = await Promise.all(Array.from({ length: 4 }, async () => await post(gateway.url, formOf(fields))));
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202]);
    expect(new Set(answers.map(taskIn)).size).toBe(1);
  });

  it('gives up a body that stands still with 408', { tags: ['S3.upload.stall'] }, async () => {
    const { gateway } = await start({ settings: { uploadStallTimeoutMs: 200 } });
    const { promise, resolve } = Promise.withResolvers<string>();
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    let told = '';
    socket.on('data', (part) => (told += part.toString())).on('close', () => resolve(told));
    const head = 'Host: a\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 1000';
    socket.write(`POST /api/v1/actions/cascade HTTP/1.1\r\n${head}\r\n\r\n--b\r\n`);
    expect(await promise).toMatch(/^HTTP\/1\.1 408 [^]*"code":"REQUEST_TIMEOUT"/);
  });

  it('bounds uploads at once of one address and gives turns back', { tags: ['S3.limits.uploads'] }, async () => {
    const { gateway, action } = await start({ settings: { uploadsMaxPerAddress: 1 } });
    const slow = httpRequest(`${gateway.url}/api/v1/actions/cascade`, {
      method: 'POST',
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
    });
    slow.on('error', () => undefined);
    slow.write('--b\r\n');
    const fields = { action_id: '7', signature: signatureOf(action), file: bytes };
    await expect.poll(async () => (await post(gateway.url, formOf(fields))).status).toBe(429);
    slow.destroy();
    await expect.poll(async () => (await post(gateway.url, formOf(fields))).status).toBe(202);
  });

  it('answers 507 before the body where there is no room', { tags: ['S3.limits.space'] }, async () => {
    const { gateway } = await start({ settings: { transferSpace: 100_000 } });
    const head = '--b\r\nContent-Disposition: form-data; name="action_id"\r\n\r\n7\r\n';
    expect(await headAlone(gateway.url, head, 200_000)).toEqual({ answered: 507, sent: Buffer.byteLength(head) });
    expect(await leftOvers(gateway)).toEqual([]);
  });

  it('answers 503 where no SuperNode can be asked', { tags: ['S3.nodes.none'] }, async () => {
    const storers = async () => await Promise.resolve({ nodes: [], total: 0 });
    const { gateway, action } = await start({ chain: { storers } });
    const answer = await post(gateway.url, formOf({ action_id: '7', signature: signatureOf(action), file: bytes }));
    expect([answer.status, answer.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
    expect(answer.headers.has('retry-after')).toBe(true);
    expect(await leftOvers(gateway)).toEqual([]);
  });

  it('answers legacy paths the same, with their successor', { tags: ['S3.legacy'] }, async () => {
    const { gateway } = await start();
    const answer = await fetch(`${gateway.url}/api/actions/cascade/tasks/x/history`);
    expect([answer.status, answer.headers.get('deprecation'), answer.headers.get('link')]).toEqual([
      404,
      'true',
      '</api/v1/actions/cascade/tasks/x/history>; rel="successor-version"',
    ]);
  });

  it('answers other methods with 405 and what there is', { tags: ['S3.methods'] }, async () => {
    const { gateway } = await start();
    const answer = await fetch(`${gateway.url}/api/v1/actions/cascade`, { method: 'PUT' });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'OPTIONS, POST']);
    const options = await fetch(`${gateway.url}/api/v1/actions/cascade`, { method: 'OPTIONS' });
    expect([options.status, options.headers.get('allow')]).toEqual([204, 'OPTIONS, POST']);
  });

  it('bounds the requests of one address, with standard headers', { tags: ['S3.limits.rate'] }, async () => {
    const { gateway } = await start({ settings: { rateLimit: { quota: 2, windowSeconds: 60 } } });
    const ask = async () => await fetch(`${gateway.url}/api/v1/actions/cascade/tasks/x`);
    const first = await ask();
    expect(first.headers.get('ratelimit-policy')).toBe('"default";q=2;w=60');
    expect(first.headers.get('ratelimit')).toBe('"default";r=1;t=60');
    await ask();
    const third = await ask();
    expect(third.status).toBe(429);
    expect(await third.json()).toMatchObject({ code: 'TOO_MANY_REQUESTS' });
    expect(Number(third.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
  });
});
