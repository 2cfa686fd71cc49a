import { statfs } from 'node:fs/promises';
import path from 'node:path';
import type { EmbeddedNats } from './nats-server.ts';
import { wrongHeads } from './record-heads.ts';

/** Whom it concerns, and how often to look. */
export type WatchOptions = Readonly<{ onStuck: (reason: string) => void; lookEachMs?: number }>;

const usualLookEachMs = 5000;
const answerWithinMs = 3000;
/** A server that is started again needs some room; with less it would only get stuck anew. */
const roomBytes = 32 << 20;
/** Far more than a server has ever needed here. */
const muchMemory = 512 << 20;

/**
 * Ends a nats-server that is stuck: one that could not write once and takes nothing more since, as soon as its disk has room again, and
 * one that has begun to count what a damaged record seems to leave out. Whoever keeps it running starts it anew, and then it takes facts
 * as before. What it had acknowledged is not touched by that.
 *
 * Gives back how to end the watching.
 */
export function watchServer(
  server: () => EmbeddedNats,
  dir: string,
  { onStuck, lookEachMs = usualLookEachMs }: WatchOptions,
): () => void {
  let isBusy = false;
  const look = async (): Promise<void> => {
    const looked = server();
    const failure = await writeError(looked.monitorUrl);
    const isWaiting = failure !== undefined && (await hasRoom(dir));
    const reason = isWaiting ? `${failure}; there is room again` : await endlessCount(looked.monitorUrl, dir);
    if (reason === undefined || looked !== server()) return;
    onStuck(reason);
    // One that counts does not hear that it shall stop.
    await (isWaiting ? looked.stop() : looked.kill());
  };
  const timer = setInterval(() => {
    if (isBusy) return;
    isBusy = true;
    void look().finally(() => (isBusy = false));
  }, lookEachMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** What kept the server from writing, in its own words; nothing where it can write, or does not answer. */
async function writeError(monitorUrl: string): Promise<string | undefined> {
  const { error = '' } = await ask<{ error?: string }>(`${monitorUrl}/healthz`);
  return error.includes('write error') ? error : undefined;
}

async function endlessCount(monitorUrl: string, dir: string): Promise<string | undefined> {
  const { mem = 0 } = await ask<{ mem?: number }>(`${monitorUrl}/varz`);
  if (mem < muchMemory) return undefined;
  const [wrong] = await wrongHeads(path.join(dir, 'js'));
  return wrong && `it takes ${mem >> 20} MB of memory, and a record of ${wrong.file} is damaged`;
}

/** Nothing where it does not answer. */
async function ask<T>(url: string): Promise<Partial<T>> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(answerWithinMs) });
    return (await response.json()) as T;
  } catch {
    return {};
  }
}

async function hasRoom(dir: string): Promise<boolean> {
  const { bavail, bsize } = await statfs(dir);
  return bavail * bsize >= roomBytes;
}
