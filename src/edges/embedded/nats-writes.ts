import { statfs } from 'node:fs/promises';
import type { EmbeddedNats } from './nats-server.ts';

/** Whom it concerns, and how often to look. */
export type WatchOptions = Readonly<{ onStuck: (reason: string) => void; lookEachMs?: number }>;

const usualLookEachMs = 5000;
const answerWithinMs = 3000;
/** A server that is started again needs some room; with less it would only get stuck anew. */
const roomBytes = 32 << 20;

/**
 * Stops a nats-server that could not write once and takes nothing more since, as soon as its disk has room again: whoever
 * keeps it running starts it anew, and then it takes facts as before. What it had acknowledged is not touched by that.
 *
 * Gives back how to end the watching.
 */
export function watchWrites(
  server: () => EmbeddedNats,
  dir: string,
  { onStuck, lookEachMs = usualLookEachMs }: WatchOptions,
): () => void {
  let isBusy = false;
  const look = async (): Promise<void> => {
    const stuck = server();
    const reason = await writeError(stuck.monitorUrl);
    if (reason === undefined || !(await hasRoom(dir)) || stuck !== server()) return;
    onStuck(reason);
    await stuck.stop();
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
  try {
    const response = await fetch(`${monitorUrl}/healthz`, { signal: AbortSignal.timeout(answerWithinMs) });
    const { error = '' } = (await response.json()) as { error?: string };
    return error.includes('write error') ? error : undefined;
  } catch {
    return undefined;
  }
}

async function hasRoom(dir: string): Promise<boolean> {
  const { bavail, bsize } = await statfs(dir);
  return bavail * bsize >= roomBytes;
}
