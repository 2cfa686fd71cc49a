import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import {
  downloadSignature,
  type Json,
  postJson,
  type Registered,
  registered,
  streamed,
  upload,
} from './gateway-client.ts';

/** No byte, one, and more than one chunk; public and private in turn. */
const sizes = [
  [0, true],
  [1, false],
  [2 ** 20, true],
  [2 ** 20, false],
] as const;

/** Stores files of each size and fetches them back: the bytes have the hash that they had. */
export async function expectSameBytes(gateway: string): Promise<void> {
  const files = [];
  for (const [size, isPublic] of sizes) {
    const name = `of ${size} bytes, ${isPublic ? 'public' : 'private'}.bin`;
    files.push({ isPublic, name, file: await registered(gateway, name, { isPublic, size }) });
  }
  await Promise.all(files.map(async (one) => await expectBack(gateway, one)));
}

type Stored = Readonly<{ isPublic: boolean; name: string; file: Registered }>;

async function expectBack(gateway: string, { isPublic, name, file }: Stored): Promise<void> {
  const actions = `${gateway}/api/v1/actions/cascade`;
  const { task_id: uploaded } = (await (await upload(actions, file)).json()) as Json;
  expect((await streamed(`${actions}/tasks/${String(uploaded)}/status`)).at(-1)?.name, name).toBe('sdk:completed');
  const asked = isPublic ? {} : { signature: await downloadSignature(gateway, file.action) };
  const { task_id: task } = await postJson(`${actions}/${file.action}/downloads?public=${isPublic}`, asked);
  const download = `${gateway}/api/v1/downloads/cascade/${String(task)}`;
  expect((await streamed(`${download}/status`)).at(-1)?.name, name).toBe('sdk:completed');
  const answer = await fetch(`${download}/file`);
  const fetched = Buffer.from(await answer.arrayBuffer());
  expect([answer.status, fetched.length, sha256(fetched)], name).toEqual([200, file.bytes.length, sha256(file.bytes)]);
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
