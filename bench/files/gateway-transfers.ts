import { once as event } from 'node:events';
import { request } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createDataHasher } from '../../src/edges/chain/files/data-hash.ts';
import { registerAction } from '../../src/edges/chain/files/register-action.ts';
import { signText } from '../../src/edges/chain/files/signatures.ts';
import { createChainClient } from '../../src/edges/chain/rest/client.ts';
import { loadProfile } from '../../src/edges/chain/rest/profile.ts';
import { createSigner } from '../../src/edges/chain/sign/signer.ts';
import { developmentAccounts } from '../../src/edges/local-network/development-accounts.ts';
import type { Program } from '../../test/support/programs/run-program.ts';

/** Bytes of one write. */
export const chunkBytes = 4 * 2 ** 20;
const mib = 2 ** 20;
const pollMs = 100;
const boundary = 'a-boundary-of-the-bench';

/** A funded account of the local network. */
export function person() {
  const found = developmentAccounts().find(({ index, key }) => index === 7 && key.type === 'eth_secp256k1');
  if (!found) throw new Error('There is no such account');
  return found;
}

type Urls = Program['instance']['urls'];

/** Uploads a file, waits until nodes have it, has it fetched, and reads it to its end. */
export async function moveOne(urls: Urls, size: number): Promise<void> {
  const { actionId } = await uploadWhole(urls, size);
  await fetchWhole(urls, actionId, size);
}

/** Uploads a file until 202, which takes so long, and waits until nodes have it. */
export async function uploadWhole(urls: Urls, size: number): Promise<{ actionId: string; upMs: number }> {
  const { gateway = '' } = urls;
  const registered = await registerOne(urls, size);
  const { actionId } = registered;
  const startedAt = performance.now();
  const history = historyUrl(gateway, await uploadOne(gateway, registered, size));
  const upMs = performance.now() - startedAt;
  await ended(history);
  return { actionId, upMs };
}

/** Has a file fetched from nodes, and reads it to its end, which takes so many milliseconds. */
export async function fetchWhole({ gateway = '' }: Urls, actionId: string, size: number): Promise<number> {
  const asked = await fetch(`${gateway}/api/v1/actions/cascade/${actionId}/downloads?public=true`, { method: 'POST' });
  const { task_id: fetching } = (await asked.json()) as { task_id: string };
  await ended(`${gateway}/api/v1/downloads/cascade/${fetching}/history`);
  const startedAt = performance.now();
  const file = await fetch(`${gateway}/api/v1/downloads/cascade/${fetching}/file`);
  let read = 0;
  for await (const part of file.body ?? []) read += (part as Uint8Array).length;
  if (read !== size) throw new Error(`${read} bytes came back of ${size}`);
  return performance.now() - startedAt;
}

/** An action that waits for its file, and what its upload says. */
export type Registered = Readonly<{ actionId: string; signature: string }>;

/** Registers an action for a file of a size. */
export async function registerOne({ chain = '' }: Urls, size: number): Promise<Registered> {
  const { key } = person();
  const dataHash = await hashOf(size);
  const named = { dataHash, size, fileName: 'bench.bin', isPublic: true };
  const { actionId } = await registerAction(createSigner(createChainClient(chain, loadProfile('local'))), key, named);
  return { actionId, signature: signText(key, dataHash) };
}

/** Uploads its file until 202; gives the task. */
export async function uploadOne(gateway: string, file: Registered, size: number): Promise<string> {
  return await upload(`${gateway}/api/v1/actions/cascade`, file, size);
}

/** Where the states of an upload so far are. */
export function historyUrl(gateway: string, task: string): string {
  return `${gateway}/api/v1/actions/cascade/tasks/${task}/history`;
}

function* chunksOf(size: number): Generator<Buffer> {
  const chunk = Buffer.alloc(chunkBytes, 7);
  for (let at = 0; at < size; at += chunkBytes) {
    for (let piece = 0; piece < chunkBytes; piece += mib) chunk.writeUInt32LE(at / mib + piece / mib, piece);
    yield chunk.subarray(0, Math.min(chunkBytes, size - at));
  }
}

async function hashOf(size: number): Promise<string> {
  const hasher = await createDataHasher();
  for (const bytes of chunksOf(size)) {
    hasher.update(bytes);
    await nextTurn();
  }
  return hasher.digest();
}

async function upload(url: string, { actionId, signature }: Registered, size: number): Promise<string> {
  const field = (name: string, value: string): string =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const file = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="bench.bin"\r\n\r\n`;
  const sending = request(url, {
    method: 'POST',
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
  });
  const answered = event(sending, 'response');
  sending.write(field('action_id', actionId) + field('signature', signature) + file);
  for (const bytes of chunksOf(size)) if (!sending.write(Buffer.from(bytes))) await event(sending, 'drain');
  sending.end(`\r\n--${boundary}--\r\n`);
  const [answer] = (await answered) as [AsyncIterable<Buffer> & { statusCode: number }];
  let text = '';
  for await (const part of answer) text += part.toString();
  if (answer.statusCode !== 202) throw new Error(`The upload was answered ${answer.statusCode}: ${text}`);
  return (JSON.parse(text) as { task_id: string }).task_id;
}

/** Waits until a task has completed, or come to a state. */
export async function ended(history: string, state = 'sdk:completed'): Promise<void> {
  for (;;) {
    const answer: unknown = await (await fetch(history)).json();
    if (!Array.isArray(answer)) throw new Error(`The history is ${JSON.stringify(answer)}`);
    const states = answer as { status: string }[];
    const last = states.at(-1)?.status ?? '';
    if (states.some(({ status }) => status === state)) return;
    if (last === 'sdk:failed') throw new Error(JSON.stringify(states.at(-1)));
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}
