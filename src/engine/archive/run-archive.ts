import { setTimeout as pause } from 'node:timers/promises';
import type { StreamName } from '../../events/streams.ts';
import type { Logger } from '../../kit/logger.ts';
import type { Leasing } from '../log/leases.ts';
import { ensureStreams, incarnationOf } from '../log/streams.ts';
import type { Context } from '../../roles/context.ts';
import {
  archivedStreams,
  archiveStream,
  bothStoresOf,
  type BothStores,
  drainArchive,
  stateOf,
  StreamBroken,
} from './archive.ts';
import { guardDatabase } from './database-guard.ts';
import { brakes } from './policy.ts';
import { streamInfo } from './raw.ts';
import type { Range } from './report.ts';
import type { ArchiveHead } from './store.ts';

/** What keeping the archive takes. */
type KeeperOptions = BothStores & Readonly<{ leases: Leasing; log: Logger; signal: AbortSignal }>;

const drainedWithinMs = 3000;
const afterFailureMs = 1000;
const watchEachMs = 1000;

/** Keeps the archive of a network, and the tables that it lies in, until the signal ends it; never fails. */
export async function runArchive(context: Context, signal: AbortSignal): Promise<void> {
  const { config, broker, pools, network, logger: log, database: files } = context;
  const stores = bothStoresOf(broker.connection, { network, pools });
  await Promise.all([
    guardDatabase({ pools, network, files, log, scrubIntervalMs: config.scrubIntervalMs, signal }),
    keepArchive({ ...stores, leases: broker.leases, log, signal }),
  ]);
}

/** Before the archive ends in good order: gives it a moment to take what was written last. Never fails. */
export async function finishArchive({ broker, pools, network, logger }: Context): Promise<void> {
  const stores = bothStoresOf(broker.connection, { network, pools });
  const isWhole = await drainArchive(stores, drainedWithinMs).catch(() => false);
  if (!isWhole) logger.warn('the archive ends before the log does; it is brought forward at the next start');
}

/**
 * Keeps the archive of all streams until the signal ends it: adds what is new, and tells the auditor of a stream that
 * does not go on where the archive ends. One process at a time does so.
 *
 * Never fails: what goes wrong is logged and tried again.
 */
export async function keepArchive(options: KeeperOptions): Promise<void> {
  const { leases, log, signal } = options;
  while (!signal.aborted) {
    const held = leases.hold('archive', signal, async (lease) => {
      await Promise.all(archivedStreams(options).map((stream) => keepStream(options, stream, lease.signal)));
    });
    await held.catch((err: unknown) => log.warn({ err }, 'archive gave up its lease'));
    await pause(afterFailureMs, undefined, { signal }).catch(() => undefined);
  }
}

/** A gap that was met, and when. */
type Gap = Readonly<{ range: Range; at: number }>;

async function keepStream(options: KeeperOptions, stream: StreamName, signal: AbortSignal): Promise<void> {
  const { store, log } = options;
  let gap: Gap | undefined;
  while (!signal.aborted) {
    try {
      await followOnce(options, stream, signal);
    } catch (err) {
      if (signal.aborted) return;
      log.warn({ err, stream }, 'archive of a stream waits');
      if (err instanceof StreamBroken) {
        await store.suspect(stream, err.message).catch(() => undefined);
        gap = await judgeGap(options, stream, { met: err.gap, before: gap }).catch(() => gap);
      }
      await pause(afterFailureMs, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** Follows the stream until something is wrong with it. */
async function followOnce(options: KeeperOptions, stream: StreamName, signal: AbortSignal): Promise<void> {
  const { store, nc, network, policies } = options;
  const known = await store.head(stream);
  const info = await streamInfo(options, stream);
  // Where nothing was archived there is nothing that could be brought back.
  if (!info && (known?.position ?? 0) === 0) return await ensureStreams(nc, network, { policies });
  const state = known ? await stateOf(options, stream, known) : 'whole';
  if (state !== 'whole' || !info) throw new Error(`${stream} is ${state}: what it lacks comes back first`);
  const led = await store.lead(stream, incarnationOf(info));
  const ending = new AbortController();
  const either = AbortSignal.any([signal, ending.signal]);
  const watching = watchHead(options, led, either).then(() => ending.abort());
  try {
    await archiveStream(options, led, either);
  } finally {
    ending.abort();
    await watching;
  }
}

/** Ends when the archive is not the one that is led here: another leads, or the database was made anew. */
async function watchHead({ store }: KeeperOptions, led: ArchiveHead, signal: AbortSignal): Promise<void> {
  for (let isOurs = true; isOurs && !signal.aborted;) {
    await pause(watchEachMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    const head = await store.head(led.stream).catch(() => led);
    isOurs = head?.epoch === led.epoch;
  }
}

/**
 * Events that are missing where the stream goes on, and were never archived, are lost once they were missed twice, some
 * time apart.
 */
async function judgeGap(
  { store, log }: KeeperOptions,
  stream: StreamName,
  { met, before }: Readonly<{ met: Range | undefined; before: Gap | undefined }>,
): Promise<Gap | undefined> {
  if (!met) return undefined;
  const isSame = before?.range.first === met.first && before.range.last === met.last;
  if (!isSame) return { range: met, at: performance.now() };
  if (performance.now() - before.at < brakes.confirmAfterMs) return before;
  await store.recordLoss({ stream, ...met, ids: [], reason: 'missing in the stream, and not archived before' });
  log.error({ stream, ...met }, 'events are lost: they are missing in the stream and were never archived');
  return undefined;
}
