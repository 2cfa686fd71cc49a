import { setTimeout as pause } from 'node:timers/promises';
import type { StreamName } from '../../events/catalogue.ts';
import type { Logger } from '../log.ts';
import { type BothStores, lookAt } from './archiver.ts';
import { isDamaged, sentences } from './damage.ts';
import { scrub } from './scrub.ts';

/** Both stores, and how closely they are watched. */
export type Watching = BothStores &
  Readonly<{
    log: Logger;
    /** Time from the end of one look through everything to the beginning of the next. */
    scrubIntervalMs: number;
    /** Events of each stream compared in a second at most. */
    scrubPerSecond: number;
  }>;

const lookEachMs = 1000;

/** Ends when the stream no longer is what the archive follows. */
export async function watchEnds(options: Watching, stream: StreamName, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await pause(lookEachMs, undefined, { signal }).catch(() => undefined);
    const head = signal.aborted ? undefined : await options.store.head(stream).catch(() => undefined);
    const state = head && (await lookAt(options, stream, head).catch(() => 'whole' as const));
    if (state !== undefined && state !== 'whole') return;
  }
}

/** Ends when a comparison finds damage. */
export async function scrubAgainAndAgain(options: Watching, stream: StreamName, signal: AbortSignal): Promise<void> {
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
