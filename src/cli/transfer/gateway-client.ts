import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { type ClientRequest, type IncomingMessage, request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { text as textOf } from 'node:stream/consumers';
import { AppError, toAppError } from '../../kit/errors.ts';
import { wait } from '../../kit/wait.ts';
import { type GatewayAnswer, refusalOf, taskIn } from './gateway-refusal.ts';

/** A file to upload, for an action that is on the chain. */
export type Upload = Readonly<{ file: string; size: number; actionId: string; signature: string }>;

/** Receives the number of bytes transferred since its last call. */
type OnBytes = (count: number) => void;

const tries = 5;
const betweenTriesMs = 3000;
const largeBytes = 1 << 20;
const refusalWithinMs = 200;

/**
 * Uploads a file to a gateway and returns the id of the task; the file is read as it is sent.
 *
 * An action that the gateway does not know yet is requested again, five times, three seconds apart (spec 3). Every
 * other refusal fails with the gateway's code and words.
 */
export async function uploadFile(gateway: string, upload: Upload, onBytes: OnBytes): Promise<string> {
  for (let tried = 1; ; tried++) {
    const answered = await sendForm(`${gateway}/api/v1/actions/cascade`, upload, onBytes);
    if (answered.status < 300) return taskIn(answered);
    if (answered.status !== 404 || tried === tries) throw refusalOf(answered);
    await wait(betweenTriesMs, new AbortController().signal);
  }
}

/** Requests a gateway to fetch a file; without a signature it must be a public one. Returns the id of the task. */
export async function requestDownload(gateway: string, actionId: string, signature?: string): Promise<string> {
  const query = signature === undefined ? '?public=true' : '';
  const url = `${gateway}/api/v1/actions/cascade/${encodeURIComponent(actionId)}/downloads${query}`;
  const body = JSON.stringify(signature === undefined ? {} : { signature });
  const headers = { 'content-type': 'application/json' };
  const response = await reach(gateway, () => fetch(url, { method: 'POST', body, headers }));
  const answered = { status: response.status, text: await response.text() };
  if (answered.status >= 300) throw refusalOf(answered);
  return taskIn(answered);
}

/** Runs a request; where no server answers it fails with `UNAVAILABLE` and names what to check. */
export async function reach<T>(gateway: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (caught) {
    const { code, message } = toAppError(caught);
    if (code !== 'INTERNAL') throw caught;
    const cause = caught instanceof Error && caught.cause instanceof Error ? caught.cause.message : message;
    throw new AppError(
      'UNAVAILABLE',
      `The gateway ${gateway} cannot be reached (${cause}). Is it running? Name another one with --gateway.`,
      { cause: caught },
    );
  }
}

/** Sends the form and returns the response, which may come before the complete form was sent. */
async function sendForm(url: string, upload: Upload, onBytes: OnBytes): Promise<GatewayAnswer> {
  const boundary = `annals-${randomBytes(16).toString('hex')}`;
  const fields = { action_id: upload.actionId, signature: upload.signature };
  const name = path
    .basename(upload.file)
    .replaceAll('"', '%22')
    .replaceAll(/[\r\n]/g, ' ');
  const head = Buffer.from(
    `${Object.entries(fields)
      .map(([field, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${field}"\r\n\r\n${value}\r\n`)
      .join(
        '',
      )}--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\nContent-Type: application/octet-stream\r\n\r\n`,
  );
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  const send = url.startsWith('https:') ? tlsRequest : plainRequest;
  const request = send(url, {
    method: 'POST',
    headers: {
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-length': head.length + upload.size + tail.length,
    },
  });
  const answer = answerTo(request);
  const body = async function* () {
    yield head;
    // A refusal that comes while a large body is written is lost with the connection: one of the head comes now.
    if (upload.size > largeBytes) await Promise.race([answer, wait(refusalWithinMs, new AbortController().signal)]);
    for await (const chunk of createReadStream(upload.file, { highWaterMark: 1 << 18 })) {
      const bytes: Buffer = chunk;
      yield bytes;
      onBytes(bytes.length);
    }
    yield tail;
  };
  // A body that cannot be sent ends the request, whose answer fails then.
  const sent = pipeline(body, request).catch(() => undefined);
  const answered = await reach(new URL(url).origin, () => answer);
  request.destroy();
  await sent;
  return answered;
}

async function answerTo(request: ClientRequest): Promise<GatewayAnswer> {
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return { status: response.statusCode ?? 0, text: await textOf(response) };
}
