import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { adr036SignBytes } from '../../../src/edges/chain/files/signatures.ts';
import { readKeyFile } from '../../../src/edges/chain/sign/key-file.ts';
import { accountOf, publicKeyOf, sign } from '../../../src/edges/chain/sign/keys.ts';
import { bytesOf } from '../../edges/node/files-under-test.ts';
import { jsonLines, runVerb } from '../../support/programs/verb.ts';

type Json = Record<string, unknown>;

/** Registers a file, uploads it through the gateway and fetches it back, watching both to their ends. */
export async function expectMovedByGateway(gateway: string, dataDir: string, visibility: string): Promise<void> {
  const file = path.join(dataDir, 'to move.bin');
  writeFileSync(file, bytesOf('g', 700_000));
  const [made] = jsonLines(await runVerb(dataDir, 'register', file, visibility, '--json'));
  const id = String(made?.['action_id']);
  const form = new FormData();
  form.set('action_id', id);
  form.set('signature', await signed(dataDir, String(made?.['data_hash'])));
  form.set('file', new Blob([readFileSync(file)]), 'to move.bin');
  const upload = await taskIn(await fetch(`${gateway}/api/v1/actions/cascade`, { method: 'POST', body: form }));
  const uploaded = await watched(`${gateway}/api/v1/actions/cascade/tasks/${upload}/status`);
  expect(uploaded.at(0)).toBe('sdk:started');
  expect(uploaded.slice(-3)).toEqual(['sdk:txhash_received', 'sdk:registration_successful', 'sdk:completed']);
  expect(uploaded.indexOf('sdk:upload_completed') + 1).toBe(uploaded.indexOf('sdk:processing_started'));
  const isPublic = visibility === '--public';
  const download = await taskIn(
    await fetch(`${gateway}/api/v1/actions/cascade/${id}/downloads${isPublic ? '?public=true' : ''}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(isPublic ? {} : { signature: await signed(dataDir, id) }),
    }),
  );
  const fetched = await watched(`${gateway}/api/v1/downloads/cascade/${download}/status`);
  expect(fetched.slice(-3)).toEqual(['sdk:download_started', 'sdk:download_completed', 'sdk:completed']);
  const answer = await fetch(`${gateway}/api/v1/downloads/cascade/${download}/file`);
  expect(Buffer.from(await answer.arrayBuffer()).equals(readFileSync(file))).toBe(true);
  expect(answer.headers.get('content-disposition')).toContain('to move.bin');
}

async function signed(dataDir: string, text: string): Promise<string> {
  const key = await readKeyFile(path.join(dataDir, 'local/keys/user'), 'eth_secp256k1');
  const bytes = sign(key, adr036SignBytes(text, accountOf(publicKeyOf(key))));
  return Buffer.from(bytes.subarray(0, 64)).toString('base64');
}

async function taskIn(answer: Response): Promise<string> {
  const body = (await answer.json()) as Json;
  expect({ status: answer.status, body }).toMatchObject({ status: 202, body: { task_id: body['taskId'] } });
  return String(body['task_id']);
}

/** The states of a task as its stream tells them, which ends by itself; they are numbered without a hole. */
async function watched(url: string): Promise<string[]> {
  const text = await (await fetch(url, { headers: { accept: 'text/event-stream' } })).text();
  const events = text.split('\n\n').filter((one) => one.includes('data:') && !one.includes('event:'));
  const told = events.map((one) => JSON.parse(one.replace(/^[^]*data: /, '')) as Json);
  expect(told.map(({ id }) => id)).toEqual(told.map((_, index) => String(index + 1)));
  return told.map(({ status }) => String(status));
}
