import type { Writable } from 'node:stream';
import type { UniversalServerResponse } from '@connectrpc/connect/protocol';

/** Ends answers that nobody reads. */
export type StalledAnswers = Readonly<{
  /** Watches an answer until it is closed; `end` is called once nothing of it was taken for too long. */
  watch: (answer: Answer, end: () => void) => void;
}>;

type Answer = Pick<Writable, 'writableLength' | 'writableEnded' | 'on' | 'once'>;
type Watched = { drains: number; seen: string; idleLooks: number; readonly end: () => void };

const looksPerLimit = 4;

/**
 * Answers of which nothing is taken for `limitMs` although there is something to take, and those that have ended while
 * their client goes on sending; an answer that waits for its own handler has no limit. Looks are counted, not time: in
 * a process that stood still nobody could take anything.
 */
export function createStalledAnswers(limitMs: number): StalledAnswers {
  const answers = new Map<Answer, Watched>();
  let timer: NodeJS.Timeout | undefined;
  const look = (): void => {
    for (const [answer, watched] of answers) {
      const seen = `${watched.drains} ${answer.writableLength}`;
      const isWaiting = answer.writableLength === 0 && !answer.writableEnded;
      if (isWaiting || seen !== watched.seen) Object.assign(watched, { seen, idleLooks: 0 });
      else if ((watched.idleLooks += 1) >= looksPerLimit) watched.end();
    }
  };
  return {
    watch: (answer, end) => {
      const watched: Watched = { drains: 0, seen: '', idleLooks: 0, end };
      answers.set(answer, watched);
      answer.on('drain', () => (watched.drains += 1));
      answer.once('close', () => {
        answers.delete(answer);
        if (answers.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      });
      timer ??= setInterval(look, limitMs / looksPerLimit).unref();
    },
  };
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
