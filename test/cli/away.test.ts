import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { signText } from '../../src/edges/chain/files/signatures.ts';
import { freshFolder } from '../support/programs/fresh-folder.ts';
import { jsonLines, runVerb } from '../support/programs/verb.ts';
import { actionOver, creatorKey, finalize, gatewayUnderTest } from '../edges/gateway/gateway-under-test.ts';
import { goodNode, serveNodes } from '../edges/gateway/nodes-under-test.ts';
import { signatureOf } from '../edges/gateway/uploading.ts';

const bytes = randomBytes(200_000);

it('upload and download need no key away from the local network', { tags: ['S3.verbs.away'] }, async () => {
  const nodes = await serveNodes(goodNode(bytes), [() => ({})], (id) => finalize(gateway, id));
  const chain = { storers: async () => await Promise.resolve({ nodes, total: 1 }) };
  const gateway = await gatewayUnderTest({ chain });
  onTestFinished(async () => await gateway[Symbol.asyncDispose]());
  const action = await actionOver(bytes);
  gateway.actions.set('7', action);
  const { folder, remove } = freshFolder();
  onTestFinished(remove);
  const [file, back] = ['file.bin', 'back.bin'].map((name) => path.join(folder, name)) as [string, string];
  writeFileSync(file, bytes);
  const to = ['--gateway', gateway.url, '--json'];

  const stored = await runVerb(folder, 'upload', file, '--action', '7', '--signature', signatureOf(action), ...to);
  expect(stored).toMatchObject({ status: 0, stderr: '' });
  expect(jsonLines(stored).at(-1)).toMatchObject({ action_id: '7', size: bytes.length });

  gateway.actions.set('7', await actionOver(bytes, { chainState: 'done' }));
  const signed = ['--signature', signText(creatorKey, '7'), '--out'];
  const nowhere = await runVerb(folder, 'download', '7', ...signed, path.join(folder, 'none', 'back.bin'), ...to);
  expect(nowhere).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining('missing') as string });
  const opening = [...signed, back];
  expect(await runVerb(folder, 'download', '7', ...opening, ...to)).toMatchObject({ status: 0, stderr: '' });
  expect(readFileSync(back).equals(bytes)).toBe(true);
});
