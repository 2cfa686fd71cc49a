import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { StreamName } from '../../events/streams.ts';
import { type BlockLook, watchLastBlock } from '../servers/nats/last-block.ts';
import { streamName } from '../log/streams.ts';
import { type RawLog, streamInfo } from './raw.ts';
import { filesEachMs } from './stream-guard.ts';

/** The log, and how closely the files of its streams are watched; `streamFiles` holds the folders of the streams, where they are ours. */
export type WatchedFiles = RawLog & Readonly<{ streamFiles?: string | undefined; scrubIntervalMs: number }>;

/** What looks at the last block of a stream again and again; it knows what it saw for as long as it is kept. */
export function blockLookOf({ network, streamFiles }: WatchedFiles, stream: StreamName): BlockLook | undefined {
  return streamFiles === undefined ? undefined : watchLastBlock(path.join(streamFiles, streamName(stream, network)));
}

/** Ends with what is wrong on disk with the events that the broker has in memory; with nothing when the signal ends it. */
export async function watchFiles(
  { scrubIntervalMs, ...log }: WatchedFiles,
  { stream, look, signal }: Readonly<{ stream: StreamName; look: BlockLook | undefined; signal: AbortSignal }>,
): Promise<string | undefined> {
  if (!look) return await ended(signal);
  const lifeOf = async (): Promise<string | undefined> => {
    const info = await streamInfo(log, stream).catch(() => undefined);
    return info?.created;
  };
  while (!signal.aborted) {
    const life = await lifeOf();
    const damage = life === undefined ? undefined : await look(life).catch(() => undefined);
    // Of a stream that was made anew meanwhile this says nothing.
    if (damage !== undefined && (await lifeOf()) === life) return damage;
    await pause(Math.min(scrubIntervalMs, filesEachMs), undefined, { signal }).catch(() => undefined);
  }
  return undefined;
}

function ended(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener('abort', () => resolve(undefined));
  });
}
