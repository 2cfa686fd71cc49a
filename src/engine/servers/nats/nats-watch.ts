import { statfs } from 'node:fs/promises';
import path from 'node:path';
import { setAside } from '../aside.ts';
import type { Report } from '../commands.ts';
import type { EmbeddedNats } from './nats-server.ts';
import { streamsFolder } from './nats-addresses.ts';

/** The listeners, and the interval of the checks. */
type WatchOptions = Readonly<{
  onStuck: (reason: string) => void;
  say: Report;
  lookEachMs?: number;
}>;

const usualCheckEachMs = 5000;
const answerWithinMs = 3000;
/** A server that is started again needs some room; with less it would only get stuck anew. */
const roomBytes = 32 << 20;

/**
 * Ends a nats-server that is stuck, so that its supervisor starts it again:
 * - one that failed to write once and has refused all writes since, as soon as its disk has room again;
 * - one that cannot write to a key-value bucket because a value in it is damaged, now and after each start: the bucket
 *   is renamed first.
 *
 * This leaves the acknowledged events of the log untouched. Returns a function that ends the watch.
 */
export function watchServer(
  server: () => EmbeddedNats,
  dir: string,
  { onStuck, say, lookEachMs = usualCheckEachMs }: WatchOptions,
): () => void {
  let isBusy = false;
  const check = async (): Promise<void> => {
    const looked = server();
    const stuck = await stuckBy(looked.monitorUrl, dir);
    if (!stuck || looked !== server()) return;
    onStuck(stuck.reason);
    const { bucket } = stuck;
    if (bucket !== undefined) await setAside(path.join(streamsFolder(dir), bucket), say, path.join(dir, bucket));
    await (stuck.isDeaf ? looked.kill() : looked.stop());
  };
  const timer = setInterval(() => {
    if (isBusy) return;
    isBusy = true;
    void check()
      .catch((error: unknown) => say(`the broker is stuck and cannot be helped: ${String(error)}`))
      .finally(() => (isBusy = false));
  }, lookEachMs);
  timer.unref();
  return () => clearInterval(timer);
}

/**
 * Why a server is stuck; whether it ignores a request to stop, or must not write once more; the stream of a damaged
 * bucket.
 */
type Stuck = Readonly<{ reason: string; isDeaf: boolean; bucket?: string | undefined }>;

async function stuckBy(monitorUrl: string, dir: string): Promise<Stuck | undefined> {
  const failure = await writeError(monitorUrl);
  if (failure === undefined) return undefined;
  const bucket = damagedBucket.exec(failure)?.[1];
  if (bucket !== undefined) return { reason: `${failure}; it is made anew`, isDeaf: true, bucket };
  return (await hasRoom(dir)) ? { reason: `${failure}; there is room again`, isDeaf: false } : undefined;
}

const damagedBucket = /> (KV_[\w-]+)' write error: malformed or corrupt message/;

/** The server's own words for why it cannot write; undefined where it can, or does not answer. */
async function writeError(monitorUrl: string): Promise<string | undefined> {
  const { error = '' } = await query<{ error?: string }>(`${monitorUrl}/healthz`);
  return error.includes('write error') ? error : undefined;
}

/** Nothing where it does not answer. */
async function query<T>(url: string): Promise<Partial<T>> {
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
