import { setTimeout as pause } from 'node:timers/promises';
import type { StreamName } from '../../events/streams.ts';
import type { Logger } from '../kit/logger.ts';
import { type BothStores, lookAt } from './archiver.ts';
import { isDamaged, sentences } from './damage.ts';
import { scrub } from './scrub.ts';
import { blockLookOf, type WatchedFiles, watchFiles } from './watch-files.ts';

/** Both stores, and how closely they are watched. */
export type Watching = BothStores &
  WatchedFiles &
  Readonly<{
    log: Logger;
    /** Time from the end of one look through everything to the beginning of the next. */
    scrubIntervalMs: number;
    /** Events of each stream compared in a second at most. */
    scrubPerSecond: number;
  }>;

const lookEachMs = 1000;

/** Ends when something is wrong with a stream or its archive: with what it is where only the broker's files tell. */
export type Watch = (signal: AbortSignal) => Promise<string | undefined>;

/** Makes the watch of a stream, to be set again after each mending: it knows what the files were like before. */
export function createWatch(options: Watching, stream: StreamName): Watch {
  const look = blockLookOf(options, stream);
  return async (signal) => {
    const over = new AbortController();
    const either = AbortSignal.any([signal, over.signal]);
    const onDisk = watchFiles(options, { stream, look, signal: either });
    const watches = [watchEnds(options, stream, either), scrubAgainAndAgain(options, stream, either), onDisk];
    try {
      await Promise.race(watches);
    } finally {
      over.abort();
      await Promise.allSettled(watches);
    }
    return await onDisk;
  };
}

/** Ends when the stream no longer is what the archive follows. */
async function watchEnds(options: Watching, stream: StreamName, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await pause(lookEachMs, undefined, { signal }).catch(() => undefined);
    const head = signal.aborted ? undefined : await options.store.head(stream).catch(() => undefined);
    const state = head && (await lookAt(options, stream, head).catch(() => 'whole' as const));
    if (state !== undefined && state !== 'whole') return;
  }
}

/** Ends when a comparison finds damage. */
async function scrubAgainAndAgain(options: Watching, stream: StreamName, signal: AbortSignal): Promise<void> {
  const { store, log, scrubIntervalMs, scrubPerSecond } = options;
  while (!signal.aborted) {
    await pause(scrubIntervalMs * (0.9 + Math.random() / 10), undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    const report = await scrub(options, stream, { signal, perSecond: scrubPerSecond });
    if (signal.aborted) return;
    await store.recordScrub(stream, sentences(report));
    if (!isDamaged(report)) continue;
    log.error({ stream, findings: sentences(report) }, 'damage found in a store');
    return;
  }
}
