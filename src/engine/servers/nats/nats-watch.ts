import { statfs } from 'node:fs/promises';
import path from 'node:path';
import { setAside } from '../aside.ts';
import type { Report } from '../commands.ts';
import { falseSequences } from './damaged-sequences.ts';
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
/** So much more memory than at the last look at the files is a reason to look at them again. */
const grownBytes = 256 << 20;

/**
 * Ends a nats-server that is stuck, so that its supervisor starts it again:
 * - one that failed to write once and has refused all writes since, as soon as its disk has room again;
 * - one that cannot write to a key-value bucket because a value in it is damaged, now and after each start: the bucket
 *   is renamed first;
 * - one that takes ever more memory for a message whose sequence is damaged: it is mended before the next start.
 *
 * This leaves the acknowledged events of the log untouched. Returns a function that ends the watch.
 */
export function watchServer(
  server: () => EmbeddedNats,
  dir: string,
  { onStuck, say, lookEachMs = usualCheckEachMs }: WatchOptions,
): () => void {
  let isBusy = false;
  const isLost = watchMemory(streamsFolder(dir));
  const check = async (): Promise<void> => {
    const looked = server();
    const stuck = (await stuckBy(looked.monitorUrl, dir)) ?? (await isLost(looked.monitorUrl));
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

/** Looks for a damaged sequence whenever a server has taken much more memory. */
function watchMemory(streams: string): (monitorUrl: string) => Promise<Stuck | undefined> {
  let known: Readonly<{ monitorUrl: string; bytes: number }> | undefined;
  return async (monitorUrl) => {
    const { mem: bytes = 0 } = await query<{ mem: number }>(`${monitorUrl}/varz`);
    const before = known?.monitorUrl === monitorUrl ? known.bytes : bytes;
    if (bytes > before && bytes < before + grownBytes) return undefined;
    known = { monitorUrl, bytes };
    if (bytes <= before) return undefined;
    const [damage] = await falseSequences(streams);
    return damage && { reason: `a message in ${damage.file} calls itself ${damage.is}; it is mended`, isDeaf: true };
  };
}

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
