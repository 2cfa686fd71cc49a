import path from 'node:path';
import { AppError } from '../../kit/errors.ts';
import { wait } from '../../kit/wait.ts';
import { reach } from './gateway-client.ts';
import { refusalOf } from './gateway-refusal.ts';

/** A fetched file: its name from the gateway, its size and its bytes. */
export type Fetched = Readonly<{
  name: string | undefined;
  size: number | undefined;
  /** All bytes, once each, or it fails: after a lost connection it resumes at the same offset. */
  bytes: AsyncIterable<Uint8Array>;
}>;

type Complete = Readonly<{ url: string; size: number; etag: string }>;

/** Attempts without a new byte until a file counts as lost. */
const mostTries = 10;
const firstRetryMs = 250;
const longestRetryMs = 3_000;
const never = new AbortController().signal;

/** Opens the file of a download that has completed. */
export async function openFile(gateway: string, taskId: string): Promise<Fetched> {
  const url = `${gateway}/api/v1/downloads/cascade/${taskId}/file`;
  const response = await reach(gateway, () => fetch(url));
  if (response.status !== 200 || response.body === null)
    throw refusalOf({ status: response.status, text: await response.text() });
  const name = fileNameIn(response.headers.get('content-disposition') ?? '');
  const length = response.headers.get('content-length');
  const etag = response.headers.get('etag') ?? '';
  if (length === null) return { name, size: undefined, bytes: response.body };
  const size = Number(length);
  return { name, size, bytes: untilComplete({ url, size, etag }, response.body) };
}

/** The base name of a `Content-Disposition`, without any path in it. */
export function fileNameIn(disposition: string): string | undefined {
  const encoded = /filename\*=UTF-8''([^;]+)/i.exec(disposition)?.[1];
  const input = encoded === undefined ? /filename="([^"]*)"/i.exec(disposition)?.[1] : decodeURIComponent(encoded);
  const name = path.basename((input ?? '').replaceAll('\\', '/'));
  return name === '' || name === '.' || name === '..' ? undefined : name;
}

/** The bytes of a file; after each lost connection it requests the rest as a range of the same content. */
async function* untilComplete(file: Complete, first: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let at = 0;
  let body: AsyncIterable<Uint8Array> | undefined = first;
  for (let tries = 0; tries < mostTries; tries++) {
    for await (const chunk of untilCut(body ?? [])) {
      at += chunk.length;
      tries = 0;
      yield chunk;
    }
    if (at === file.size) return;
    await wait(Math.min(firstRetryMs * 2 ** tries, longestRetryMs), never);
    body = await restOf(file, at);
  }
  throw new AppError('UNAVAILABLE', `The gateway gave ${at} of ${file.size} bytes. Run the same command again.`);
}

async function* untilCut(body: AsyncIterable<Uint8Array> | readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch {
    // The connection was cut; the caller counts the bytes that came.
  }
}

/** The bytes of a file from an offset on; undefined where the gateway cannot be reached now. */
async function restOf({ url, size, etag }: Complete, at: number): Promise<AsyncIterable<Uint8Array> | undefined> {
  const headers = { range: `bytes=${at}-`, ...(etag === '' ? {} : { 'if-range': etag }) };
  const response = await fetch(url, { headers }).catch(() => undefined);
  if (!response || response.status >= 500) return undefined;
  const { status } = response;
  if (status >= 400) throw refusalOf({ status, text: await response.text() });
  const isRest = status === 206 && response.headers.get('content-range') === `bytes ${at}-${size - 1}/${size}`;
  if (isRest && response.body !== null) return response.body;
  await response.body?.cancel();
  throw new AppError('UNAVAILABLE', `The gateway does not give the rest of the file. Run the same command again.`);
}
