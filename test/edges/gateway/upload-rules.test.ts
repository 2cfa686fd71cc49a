import { createHash, randomBytes } from 'node:crypto';
import { readdir, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { AppError } from '../../../src/kit/errors.ts';
import { signText } from '../../../src/edges/chain/files/signatures.ts';
import { sign } from '../../../src/edges/chain/sign/keys.ts';
import { baseName } from '../../../src/edges/gateway/intake/file-name.ts';
import { freshNetwork } from '../../support/programs/servers.ts';
import {
  actionOver,
  creatorKey,
  type GatewayChanges,
  type GatewayUnderTest,
  gatewayUnderTest,
} from './gateway-under-test.ts';
import { foreverMs, good, stalling } from './misdeeds.ts';
import { serveNodes } from './nodes-under-test.ts';
import { formOf, leftOvers, post, signatureOf, taskIn } from './uploading.ts';

const bytes = randomBytes(1_000);

/** A gateway whose chain has action 7 over the bytes, and a form that it takes. */
async function start(changes: GatewayChanges = {}) {
  const gateway = await gatewayUnderTest(changes);
  onTestFinished(async () => await gateway[Symbol.asyncDispose]());
  const action = await actionOver(bytes);
  gateway.actions.set('7', action);
  return { gateway, action, fields: { action_id: '7', signature: signatureOf(action), file: bytes } };
}

async function detailOf({ url }: GatewayUnderTest, id: string): Promise<Record<string, unknown>> {
  return (await (await fetch(`${url}/api/v1/actions/cascade/tasks/${id}`)).json()) as Record<string, unknown>;
}

describe('an upload', () => {
  it('is of the chain’s hash, be it SHA-256', { tags: ['S3.upload.hashes'] }, async () => {
    const { gateway, action, fields } = await start();
    const dataHash = createHash('sha256').update(bytes).digest('base64');
    if (action.file) gateway.actions.set('7', { ...action, file: { ...action.file, dataHash } });
    expect((await post(gateway.url, formOf(fields))).status).toBe(400);
    expect((await post(gateway.url, formOf({ ...fields, signature: signText(creatorKey, dataHash) }))).status).toBe(
      202,
    );
  });

  it('without a file name is upload.bin, and a long name is cut', { tags: ['S3.upload.unnamed'] }, async () => {
    const { gateway, fields } = await start();
    const field = (name: string, value: string) =>
      `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
    for (const type of ['', '\r\nContent-Type: application/octet-stream']) {
      const file = `--b\r\nContent-Disposition: form-data; name="file"${type}\r\n\r\n`;
      const head = Buffer.from(field('action_id', '7') + field('signature', fields.signature) + file);
      const body = Buffer.concat([head, bytes, Buffer.from('\r\n--b--\r\n')]);
      const answer = await post(gateway.url, body, { 'content-type': 'multipart/form-data; boundary=b' });
      expect(answer.status).toBe(202);
      expect(await detailOf(gateway, taskIn(answer))).toMatchObject({ file_name: 'upload.bin' });
    }
    expect(baseName(`${'ü'.repeat(300)}.bin`)).toBe('ü'.repeat(127));
  });

  it('takes no signature over the bare text in strict mode', { tags: ['S3.signature.strict'] }, async () => {
    const { gateway, action, fields } = await start({ settings: { signatures: 'adr036' } });
    const bare = Buffer.from(sign(creatorKey, Buffer.from(action.file?.dataHash ?? ''))).subarray(0, 64);
    const answer = await post(gateway.url, formOf({ ...fields, signature: bare.toString('base64') }));
    expect([answer.status, answer.code]).toEqual([400, 'UNAUTHORIZED']);
    expect((await post(gateway.url, formOf(fields))).status).toBe(202);
  });

  it('after one that failed is a new task', { tags: ['S3.upload.again', 'S3.nodes.rounds'] }, async () => {
    const { gateway, fields } = await start();
    const first = taskIn(await post(gateway.url, formOf(fields)));
    const lastOf = async () => (await detailOf(gateway, first))['status'];
    await expect.poll(lastOf, { timeout: 20_000 }).toBe('sdk:failed');
    const second = await post(gateway.url, formOf(fields));
    expect(second.status).toBe(202);
    expect(taskIn(second)).not.toBe(first);
  });

  it(
    'of an action that the chain cannot tell of is 503, and nothing is kept',
    { tags: ['S3.upload.chain'] },
    async () => {
      const action = async () => await Promise.reject(new AppError('UNAVAILABLE', 'The chain cannot be asked'));
      const { gateway, fields } = await start({ chain: { action } });
      const answer = await post(gateway.url, formOf(fields));
      expect([answer.status, answer.code, answer.headers.has('retry-after')]).toEqual([503, 'UNAVAILABLE', true]);
      expect(await leftOvers(gateway)).toEqual([]);
      expect((await gateway.log.lastOfAll('transfer')).size).toBe(0);
    },
  );

  it('writes nothing before its signature holds', { tags: ['S3.upload.unwritten'] }, async () => {
    const { gateway, fields } = await start();
    expect((await post(gateway.url, formOf({ ...fields, signature: signText(creatorKey, 'other') }))).status).toBe(400);
    const written = async () =>
      (await gateway.log.lastOfAll('transfer')).size + (await gateway.log.lastOfAll('request')).size;
    expect(await written()).toBe(0);
    expect((await post(gateway.url, formOf(fields))).status).toBe(202);
    expect(await written()).toBe(2);
  });

  it('that another gateway carries out is 409', { tags: ['S3.upload.elsewhere'] }, async () => {
    const nodes = await serveNodes(good, [stalling]);
    const chain = { storers: async () => await Promise.resolve({ nodes, total: 1 }) };
    const shared = { network: freshNetwork(), chain, stallMs: foreverMs };
    const { gateway, fields } = await start(shared);
    const { gateway: another } = await start({ ...shared, resumes: true });
    const id = taskIn(await post(gateway.url, formOf(fields)));
    const answer = await post(another.url, formOf(fields));
    expect([answer.status, answer.code]).toEqual([409, 'CONFLICT']);
    expect(answer.error).toContain(id);
  });
});

it('left-over files go by their age, and those of tasks stay', { tags: ['S3.upload.left-overs'] }, async () => {
  const { gateway } = await start();
  const { files } = gateway;
  const hourMs = 3_600_000;
  const names = [
    'incoming/old',
    'incoming/new',
    'uploads/old',
    'uploads/new',
    'uploads/open',
    'fetched/old',
    'fetched/new',
  ];
  for (const name of names) {
    const file = path.join(files.folder, name);
    await writeFile(file, 'x');
    const aged = new Date(Date.now() - (name.endsWith('new') ? hourMs / 2 : hourMs * 2));
    await utimes(file, aged, aged);
  }
  await files.sweep({ keepMs: hourMs, tempMs: hourMs, isOpen: async (task) => await Promise.resolve(task === 'open') });
  const left = async (below: string) => (await readdir(path.join(files.folder, below))).toSorted();
  expect(await left('incoming')).toEqual(['new']);
  expect(await left('uploads')).toEqual(['new', 'open']);
  expect(await left('fetched')).toEqual(['new']);
});
