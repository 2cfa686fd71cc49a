import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { StreamName } from '../../events/catalogue.ts';
import { watchLastBlock } from '../embedded/last-block.ts';
import { streamName } from '../nats/streams.ts';
import { type RawLog, streamInfo } from './raw.ts';
import { filesEachMs } from './stream-guard.ts';

/** The log, and where the folders of its streams lie, where they are ours. */
export type WatchedFiles = RawLog & Readonly<{ streamFiles?: string | undefined; scrubIntervalMs: number }>;

/** Ends with what is wrong on disk with the events that the broker has in memory; with nothing when the signal ends it. */
export async function watchFiles(
  { streamFiles, scrubIntervalMs, ...log }: WatchedFiles,
  stream: StreamName,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (streamFiles === undefined) return await ended(signal);
  const look = watchLastBlock(path.join(streamFiles, streamName(stream, log.network)));
  const lifeOf = async (): Promise<string | undefined> => (await streamInfo(log, stream))?.created;
  while (!signal.aborted) {
    await pause(Math.min(scrubIntervalMs, filesEachMs), undefined, { signal }).catch(() => undefined);
    const life = signal.aborted ? undefined : await lifeOf().catch(() => undefined);
    const damage = life === undefined ? undefined : await look(life).catch(() => undefined);
    // Of a stream that was made anew meanwhile this says nothing.
    if (damage !== undefined && (await lifeOf().catch(() => undefined)) === life) return damage;
  }
  return undefined;
}

function ended(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener('abort', () => resolve(undefined));
  });
}
