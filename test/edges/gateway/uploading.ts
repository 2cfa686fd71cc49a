import { readdir } from 'node:fs/promises';
import path from 'node:path';
import type { CascadeAction } from '../../../src/edges/chain/files/chain.ts';
import { signText } from '../../../src/edges/chain/files/signatures.ts';
import { creatorKey, type GatewayUnderTest } from './gateway-under-test.ts';

/** What the creator signs to upload an action's file. */
export function signatureOf(action: CascadeAction): string {
  return signText(creatorKey, action.file?.dataHash ?? '');
}

type Fields = Record<string, string | Uint8Array<ArrayBuffer>>;

/** A form of an upload; bytes are a file with a name that says too much. */
export function formOf(fields: Fields): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields))
    if (typeof value === 'string') form.append(name, value);
    else form.append(name, new Blob([value]), 'a\\b/..file\u202e.bin');
  return form;
}

/** Posts a form, and reads what is answered. */
export async function post(
  url: string,
  body: FormData | string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
) {
  const answer = await fetch(`${url}/api/v1/actions/cascade`, { method: 'POST', body, headers });
  const json = (await answer.json()) as Record<string, unknown>;
  return {
    status: answer.status,
    code: json['code'],
    error: typeof json['error'] === 'string' ? json['error'] : '',
    json,
    headers: answer.headers,
  };
}

/** The task that an answer names. */
export function taskIn({ json }: Awaited<ReturnType<typeof post>>): string {
  return String(json['task_id']);
}

/** What lies there of uploads that came in and are none yet. */
export async function leftOvers({ files }: GatewayUnderTest): Promise<string[]> {
  return await readdir(path.join(files.folder, 'incoming'));
}
