import type { Writable } from 'node:stream';
import { countDown } from '../../kit/wait.ts';
import type { UniversalServerResponse } from '@connectrpc/connect/protocol';

type Answer = Pick<Writable, 'writableLength' | 'writableEnded' | 'on' | 'once'>;

/**
 * Calls `end` once nothing of an answer was taken for `limitMs` although there is something to take, or it has ended
 * while its client goes on sending; an answer that waits for its own handler has no limit.
 */
export function watchAnswer(answer: Answer, limitMs: number, end: () => void): void {
  let seen = 0;
  const isTaken = (): boolean => {
    const before = seen;
    seen = answer.writableLength;
    return seen !== before || (seen === 0 && !answer.writableEnded);
  };
  const stalled = countDown(limitMs, end, isTaken);
  answer.on('drain', stalled.restart);
  answer.once('close', stalled.stop);
}

/** Of an answer that is given at once: whoever takes fewer bytes within the limit than this is taken for stalled. */
const partBytes = 256 * 1024;

/** The same answer in parts so small that a slow reader shows as one. */
export function inParts(response: UniversalServerResponse): UniversalServerResponse {
  return response.body ? { ...response, body: partsOf(response.body) } : response;
}

async function* partsOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const bytes of body)
    for (let at = 0; at < bytes.length; at += partBytes) yield bytes.subarray(at, at + partBytes);
}
