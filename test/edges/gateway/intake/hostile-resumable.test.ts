import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile, utimes } from 'node:fs/promises';
import { type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import type { GatewaySettings } from '../../../../src/edges/gateway/rest/dependencies.ts';
import { actionOver, type GatewayUnderTest, gatewayUnderTest } from '../gateway-under-test.ts';
import { foreverMs, waiting } from '../misdeeds.ts';
import { goodNode, serveNodes } from '../nodes-under-test.ts';
import { signatureOf } from '../uploading.ts';

const bytes = randomBytes(1_500_000);

type Headers = Record<string, string>;

/** A gateway, and a resumable upload that has begun there. */
async function begun(settings: Partial<GatewaySettings> = {}, headers: Headers = {}) {
  const nodes = await serveNodes(goodNode(bytes), [waiting]);
  const chain = { storers: async () => await Promise.resolve({ nodes, total: 1 }) };
  const gateway: GatewayUnderTest = await gatewayUnderTest({ chain, settings, stallMs: foreverMs });
  onTestFinished(async () => await gateway[Symbol.asyncDispose]());
  const action = await actionOver(bytes);
  gateway.actions.set('7', action);
  const opening = { 'annals-action-id': '7', 'annals-signature': signatureOf(action), 'upload-complete': '?0' };
  const answer = await fetch(`${gateway.url}/api/v1/uploads`, { method: 'POST', headers: { ...opening, ...headers } });
  expect(answer.status).toBe(201);
  const open = async (more: Headers = {}, body = ''): Promise<[number, unknown, string]> => {
    const init = { method: 'POST', headers: { ...opening, ...headers, ...more }, ...(body === '' ? {} : { body }) };
    const opened = await fetch(`${gateway.url}/api/v1/uploads`, init);
    const said = await opened.text();
    const code = said === '' ? '' : (JSON.parse(said) as Record<string, unknown>)['code'];
    return [opened.status, code, gateway.url + String(opened.headers.get('location'))];
  };
  return { gateway, open, upload: gateway.url + String(answer.headers.get('location')) };
}

/** A request that continues an upload; its sender decides when its bytes come. */
function patching(upload: string, from: number, complete: '?0' | '?1', headers: Headers): ClientRequest {
  const portion = {
    'content-type': 'application/partial-upload',
    'upload-offset': String(from),
    'upload-complete': complete,
  };
  return httpRequest(upload, { method: 'PATCH', headers: { ...portion, ...headers } }).on('error', () => undefined);
}

async function answerOf(request: ClientRequest) {
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  const said = await text(answer);
  return [answer.statusCode, said === '' ? '' : (JSON.parse(said) as Record<string, unknown>)['code']];
}

async function patched(upload: string, from: number, to: number, headers: Headers = {}) {
  const length = { 'content-length': String(to - from) };
  const request = patching(upload, from, to === bytes.length ? '?1' : '?0', { ...length, ...headers });
  request.end(bytes.subarray(from, to));
  return await answerOf(request);
}

async function headOf(upload: string) {
  const { headers } = await fetch(upload, { method: 'HEAD' });
  return [headers.get('upload-offset'), headers.get('upload-length')];
}

it(
  'no length is taken that none may have, or that is behind the bytes',
  { tags: ['S3.resumable.refusals'] },
  async () => {
    const { upload } = await begun();
    expect(await patched(upload, 0, 1_000)).toEqual([204, '']);
    expect(await patched(upload, 1_000, 2_000, { 'upload-length': String(2 ** 40) })).toEqual([
      413,
      'PAYLOAD_TOO_LARGE',
    ]);
    const behind = patching(upload, 1_000, '?0', { 'upload-length': '500', 'transfer-encoding': 'chunked' });
    behind.end();
    expect(await answerOf(behind)).toEqual([400, 'INVALID_ARGUMENT']);
    expect(await headOf(upload)).toEqual(['1000', null]);
    expect((await patched(upload, 1_000, bytes.length))[0]).toBe(202);
  },
);

it('a sender that is too slow finds all that came once it is told so', { tags: ['S3.resumable.breaks'] }, async () => {
  const length = String(bytes.length);
  const { upload } = await begun({ uploadStallTimeoutMs: 300 }, { 'upload-length': length });
  for (let from = 0; from < 100_000; from += 20_000) {
    const request = patching(upload, from, '?1', { 'content-length': String(bytes.length - from) });
    request.write(bytes.subarray(from, from + 20_000));
    expect(await answerOf(request)).toEqual([408, 'REQUEST_TIMEOUT']);
    expect(await headOf(upload)).toEqual([String(from + 20_000), length]);
  }
  expect((await patched(upload, 100_000, bytes.length))[0]).toBe(202);
});

it('a sender that is cut off in its last byte goes on from what came', { tags: ['S3.resumable.breaks'] }, async () => {
  const { upload } = await begun();
  const request = patching(upload, 0, '?1', { 'content-length': String(bytes.length) });
  await new Promise<void>((resolve) => void request.write(bytes.subarray(0, -1), () => resolve()));
  request.destroy();
  const from = Number((await headOf(upload))[0]);
  expect(from).toBeLessThan(bytes.length);
  expect((await patched(upload, from, bytes.length))[0]).toBe(202);
});

it('of senders at once one is let in, and the file is whole', { tags: ['S3.resumable.breaks'] }, async () => {
  const { gateway, upload } = await begun({}, { 'upload-length': String(bytes.length) });
  const outcomes = await Promise.allSettled(
    Array.from({ length: 8 }, async () => await patched(upload, 0, bytes.length)),
  );
  const answers = outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value[0]] : []));
  expect(answers.filter((status) => status === 202).length, JSON.stringify(answers)).toBeLessThanOrEqual(1);
  if (!answers.includes(202)) {
    const from = Number((await headOf(upload))[0]);
    expect((await patched(upload, from, bytes.length))[0]).toBe(202);
  }
  const [task = '', ...others] = await gateway.stored();
  expect(others).toEqual([]);
  expect((await readFile(gateway.files.uploadOf(task))).equals(bytes)).toBe(true);
});

it(
  'of many uploads of one action without a byte the oldest gives way',
  { tags: ['S3.resumable.refusals'] },
  async () => {
    const { gateway, open, upload } = await begun();
    expect(await patched(upload, 0, 1_000)).toEqual([204, '']);
    const opened: string[] = [];
    for (let count = 0; count < 40; count += 1) {
      const [status, , at] = await open();
      expect(status).toBe(201);
      opened.push(at);
    }
    // Two files for each: its bytes and what they are to be.
    expect((await readdir(path.join(gateway.files.folder, 'partial'))).length).toBe(32);
    expect((await fetch(opened[0] ?? '')).status).toBe(404);
    expect((await patched(opened.at(-1) ?? '', 0, 1_000))[0]).toBe(204);
    expect((await patched(upload, 1_000, bytes.length))[0]).toBe(202);
  },
);

it('no more uploads of one action hold bytes than may', { tags: ['S3.resumable.refusals'] }, async () => {
  const { gateway, open, upload } = await begun();
  expect(await patched(upload, 0, 1_000)).toEqual([204, '']);
  let left = '';
  for (let count = 1; count < 16; count += 1) {
    const [status, , at] = await open({}, 'a few bytes');
    expect(status).toBe(201);
    left = at;
  }
  expect((await open()).slice(0, 2)).toEqual([429, 'TOO_MANY_REQUESTS']);
  const longAgo = Date.now() / 1000 - 2 * 60 * 60;
  await utimes(gateway.files.partials.bytesOf(path.basename(left)), longAgo, longAgo);
  expect((await open({}, 'a few bytes'))[0]).toBe(201);
  expect((await fetch(left)).status).toBe(404);
  expect((await open()).slice(0, 2)).toEqual([429, 'TOO_MANY_REQUESTS']);
  expect((await fetch(upload, { method: 'DELETE' })).status).toBe(204);
  expect((await open())[0]).toBe(201);
});
