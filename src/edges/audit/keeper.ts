import { setTimeout as pause } from 'node:timers/promises';
import { type StreamName, streams } from '../../events/streams.ts';
import type { Leasing } from '../log/leasing.ts';
import { ensureStreams, incarnationOf } from '../log/streams.ts';
import { archiveStream, lookAt, StreamBroken } from './archiver.ts';
import { isDamaged, type Range, sentences } from './damage.ts';
import { isToBeHealed } from './heal.ts';
import { type Repairable, type RepairOptions, repairStream } from './repair.ts';
import { streamInfo } from './raw.ts';
import { createWatch, type Watch, type Watching } from './watch.ts';

/** What keeping the archive takes. */
export type KeeperOptions = Watching & Repairable & Readonly<{ leases: Leasing; signal: AbortSignal }>;

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
  const watch = createWatch(options, stream);
  while (!signal.aborted) {
    try {
      await turn(options, { stream, watch }, signal);
    } catch (err) {
      if (signal.aborted) return;
      options.log.warn({ err, stream }, 'archive of a stream waits');
      await pause(afterFailureMs, undefined, { signal }).catch(() => undefined);
    }
  }
}

type Watched = Readonly<{ stream: StreamName; watch: Watch }>;

/** Follows the stream until something is wrong with it or with the archive, then mends. */
async function turn(options: KeeperOptions, { stream, watch }: Watched, signal: AbortSignal): Promise<void> {
  const { store } = options;
  const known = await store.head(stream);
  const state = known ? await lookAt(options, stream, known) : 'whole';
  if (state !== 'whole') {
    if (await isToBeHealed(options, stream)) return void (await repairNow(options, stream, { signal }));
    const remedy = 'both may be wanted: look with annals scrub, then join them with annals repair';
    await store.recordScrub(stream, [`${stream} was created anew and holds other events than the archive; ${remedy}.`]);
    throw new Error(`${stream} was created anew and holds other events than the archive`);
  }
  const info = await streamInfo(options, stream);
  // Nor has the archive, which was made anew with the database: there is nothing that could be brought back.
  if (!info) return await ensureStreams(options.nc, options.network);
  const head = await store.lead(stream, incarnationOf(info));
  const ending = new AbortController();
  const either = AbortSignal.any([signal, ending.signal]);
  let onDisk: string | undefined;
  const jobs = [
    archiveStream(options, head, { signal: either, onArchived: () => undefined }),
    watch(either).then((found) => void (onDisk = found)),
  ];
  let gap: Range | undefined;
  try {
    await Promise.race(jobs);
  } catch (caught) {
    gap = gapIn(caught);
  } finally {
    ending.abort();
    await Promise.allSettled(jobs);
  }
  if (signal.aborted) return;
  if (onDisk !== undefined) options.log.error({ stream, onDisk }, 'damage found in a store');
  const hasMended = await repairNow(options, stream, { signal, onDisk });
  if (!gap || hasMended) return;
  await store.recordLoss({ stream, ...gap, ids: [], reason: 'missing in the stream, and not archived before' });
  options.log.error({ stream, ...gap }, 'events are lost: they are missing in the stream and were never archived');
}

/** What breaks the stream asks for a look at all of it; anything else is tried again. */
function gapIn(caught: unknown): Range | undefined {
  if (!(caught instanceof StreamBroken)) throw caught;
  return caught.gap;
}

async function repairNow(options: KeeperOptions, stream: StreamName, how: RepairOptions): Promise<boolean> {
  const { done, report } = await repairStream(options, stream, how);
  const isNews = done.length > 0 || isDamaged(report);
  if (isNews) options.log.warn({ stream, findings: sentences(report), done }, 'a store was mended');
  return isNews;
}
