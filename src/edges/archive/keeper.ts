import { setTimeout as pause } from 'node:timers/promises';
import { type StreamName, streams } from '../../events/catalogue.ts';
import type { Logger } from '../log.ts';
import { incarnationOf } from '../nats/streams.ts';
import type { Leases, Source } from '../postgres/source.ts';
import { archiveStream, type BothStores, lookAt } from './archiver.ts';
import { isDamaged, sentences } from './damage.ts';
import { repairStream } from './repair.ts';
import { streamInfo } from './raw.ts';
import { scrub } from './scrub.ts';

/** What keeping the archive takes. */
export type KeeperOptions = BothStores &
  Readonly<{
    leases: Leases;
    source: Source;
    log: Logger;
    /** Time from the end of one look through everything to the beginning of the next. */
    scrubIntervalMs: number;
    /** Events of each stream compared in a second at most. */
    scrubPerSecond: number;
    signal: AbortSignal;
  }>;

const lookEachMs = 1000;
const afterFailureMs = 1000;

/**
 * Keeps the archive of all streams until the signal ends it: adds what is new, compares both copies again and again, and mends at once
 * what it finds damaged. One process at a time does so.
 *
 * Never fails: what goes wrong is logged and tried again.
 */
export async function keepArchive(options: KeeperOptions): Promise<void> {
  const { leases, log, signal } = options;
  while (!signal.aborted) {
    const held = leases.hold('archive', signal, async (lease) => {
      await Promise.all(streams.map((stream) => keepStream(options, stream, lease.signal)));
    });
    await held.catch((err: unknown) => log.warn({ err }, 'archive gave up its lease'));
    await pause(afterFailureMs, undefined, { signal }).catch(() => undefined);
  }
}

async function keepStream(options: KeeperOptions, stream: StreamName, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await turn(options, stream, signal);
    } catch (err) {
      if (signal.aborted) return;
      options.log.warn({ err, stream }, 'archive of a stream waits');
      await pause(afterFailureMs, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** Follows the stream until something is wrong with it or with the archive, then mends. */
async function turn(options: KeeperOptions, stream: StreamName, signal: AbortSignal): Promise<void> {
  const { store } = options;
  const known = await store.head(stream);
  const state = known ? await lookAt(options, stream, known) : 'whole';
  if (state !== 'whole') return repairNow(options, stream, signal);
  const info = await streamInfo(options, stream);
  if (!info) return void (await pause(afterFailureMs, undefined, { signal }).catch(() => undefined));
  const head = await store.lead(stream, incarnationOf(info));
  const ending = new AbortController();
  const either = AbortSignal.any([signal, ending.signal]);
  const jobs = [
    archiveStream(options, head, { signal: either, onArchived: () => undefined }),
    watchEnds(options, stream, either),
    scrubAgainAndAgain(options, stream, either),
  ];
  try {
    await Promise.race(jobs);
  } finally {
    ending.abort();
    await Promise.allSettled(jobs);
  }
  if (!signal.aborted) await repairNow(options, stream, signal);
}

/** Ends when the stream no longer is what the archive follows. */
async function watchEnds(options: KeeperOptions, stream: StreamName, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await pause(lookEachMs, undefined, { signal }).catch(() => undefined);
    const head = signal.aborted ? undefined : await options.store.head(stream).catch(() => undefined);
    const state = head && (await lookAt(options, stream, head).catch(() => 'whole' as const));
    if (state !== undefined && state !== 'whole') return;
  }
}

/** Ends when a comparison finds damage. */
async function scrubAgainAndAgain(options: KeeperOptions, stream: StreamName, signal: AbortSignal): Promise<void> {
  const { store, log, scrubIntervalMs, scrubPerSecond } = options;
  while (!signal.aborted) {
    await pause(scrubIntervalMs * (0.9 + Math.random() / 10), undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    const report = await scrub(options, stream, { signal, perSecond: scrubPerSecond });
    if (signal.aborted) return;
    await store.report(stream, { ...report, foreign: report.foreign.length });
    if (!isDamaged(report)) continue;
    log.error({ stream, findings: sentences(report) }, 'damage found in a store');
    return;
  }
}

async function repairNow(options: KeeperOptions, stream: StreamName, signal: AbortSignal): Promise<void> {
  const { done, report } = await repairStream(options, stream, { signal });
  const isNews = done.length > 0 || isDamaged(report);
  if (isNews) options.log.warn({ stream, findings: sentences(report), done }, 'a store was mended');
}
