import { request } from 'node:http';
import type { ContractAnswer } from './document.ts';
import type { ContractRequest } from './requests.ts';

/** Where requests go: a port of this machine, or a socket. */
export type ContractServer = Readonly<{ port: number } | { socketPath: string }>;

/** Types of answers that go on for as long as they are read. */
const endless: ReadonlySet<string> = new Set(['text/event-stream', 'application/x-ndjson']);

/** What a request is answered; of an answer that has no end only its head is read. */
export async function answerTo(server: ContractServer, sent: ContractRequest): Promise<ContractAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<ContractAnswer>();
  const { body, headers, ...head } = sent;
  // Node sends no length of its own with a method that has no body as a rule.
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const call = request({ host: '127.0.0.1', ...server, ...head, headers: { ...headers, ...length } }, (answer) => {
    const { statusCode: status = 0 } = answer;
    const contentType = answer.headers['content-type'] ?? '';
    const parts: Buffer[] = [];
    if (endless.has(contentType.split(';')[0] ?? '')) {
      resolve({ status, contentType, text: undefined });
      call.destroy();
      return;
    }
    answer.on('data', (part: Buffer) => void parts.push(part));
    answer.on('end', () => resolve({ status, contentType, text: Buffer.concat(parts).toString() })).on('error', reject);
  }).on('error', reject);
  call.end(body);
  return await promise;
}
