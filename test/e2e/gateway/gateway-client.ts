import { createHash } from 'node:crypto';
import { createDataHasher } from '../../../src/edges/chain/files/data-hash.ts';
import { bytesOf } from '../../edges/node/files-under-test.ts';

/** An object of JSON. */
export type Json = Record<string, unknown>;

/** A status event as it was streamed. */
export type Told = Readonly<{ id: string; task_id: string; status: string; data: Json; created_at: string }>;

/** A frame of a stream: its name where it has one, its id, its event; comments and `retry` lines apart. */
export type Frame = Readonly<{ name: string | undefined; id: string; event: Told }>;

/** A file that is registered by the page of the local network, ready to be uploaded. */
export type Registered = Readonly<{ action: string; signature: string; dataHash: string; bytes: Buffer }>;

/** Registers a file with bytes of its own. Fails where the action was not registered. */
export async function registered(
  gateway: string,
  name: string,
  { isPublic = true, size = 20_000 } = {},
): Promise<Registered> {
  const bytes = bytesOf(createHash('sha256').update(name).digest('hex').slice(0, 4), size);
  const hasher = await createDataHasher();
  hasher.update(bytes);
  const dataHash = hasher.digest();
  const asked = { data_hash: dataHash, file_name: name, size: bytes.length, public: isPublic };
  const answer = await postJson(`${gateway}/transfers/registrations`, asked);
  const { action_id, signature } = answer;
  if (typeof action_id !== 'string' || typeof signature !== 'string')
    throw new Error(`${name} was not registered: ${JSON.stringify(answer)}`);
  return { action: action_id, signature, dataHash, bytes };
}

/** Posts JSON and gives the answer with its status. */
export async function postJson(url: string, body: unknown): Promise<Json & { httpStatus: number }> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  return { ...((await answer.json()) as Json), httpStatus: answer.status };
}

/** Uploads as clients do: `action_id`, `signature`, `file` in this order. */
export async function upload(url: string, { action, signature, bytes }: Registered): Promise<Response> {
  const form = new FormData();
  form.append('action_id', action);
  form.append('signature', signature);
  form.append('file', new Blob([bytes], { type: 'application/octet-stream' }), 'upload.bin');
  return await fetch(url, { method: 'POST', body: form, headers: { accept: '*/*' } });
}

/** The signature that fetches a private file of the page's user. */
export async function downloadSignature(gateway: string, action: string): Promise<string> {
  return String((await postJson(`${gateway}/transfers/signatures`, { action_id: action }))['signature']);
}

/** Reads a stream to the end that the gateway sets. */
export async function streamed(url: string, headers: Record<string, string> = {}): Promise<Frame[]> {
  const answer = await fetch(url, { headers });
  if (answer.status === 204) return [];
  if (answer.status !== 200) throw new Error(`${url} answers ${answer.status}: ${await answer.text()}`);
  return framesIn(await answer.text());
}

/** The frames of a stream's text that are whole. */
export function framesIn(text: string): Frame[] {
  const whole = text.split('\n\n').slice(0, -1);
  return whole.flatMap((one) => {
    const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, 'm').exec(one)?.[1];
    const data = field('data');
    return data === undefined ? [] : [{ name: field('event'), id: field('id') ?? '', event: JSON.parse(data) as Told }];
  });
}
