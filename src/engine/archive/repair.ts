import { setTimeout as pause } from 'node:timers/promises';
import { AppError } from '../../kit/errors.ts';
import type { StreamName } from '../../events/streams.ts';
import type { Source } from '../models/engine/source.ts';
import type { BothStores } from './archive.ts';
import { chained, type RawEvent } from './chain.ts';
import { rebuildModels, resumeModels } from './models.ts';
import { findingOf } from './policy.ts';
import { streamInfo } from './raw.ts';
import { rawBetween, repairArchive } from './repair-archive.ts';
import { isDamaged, isStreamDamaged, type ScrubReport, sentences } from './report.ts';
import { holdStream, restoreStream } from './restore.ts';
import { scrub, type ScrubOptions } from './scrub.ts';
import type { Loss } from './standing.ts';

/** Both stores, and the log as read models take it. */
export type Repairable = BothStores & Readonly<{ source: Source }>;

/** What a repair did, in sentences; `isExact` when every event is again where it was. */
export type Repaired = Readonly<{
  report: ScrubReport;
  done: readonly string[];
  isExact: boolean;
  isRestored: boolean;
}>;

/**
 * `isDryRun` only compares; `expected` is the finding that the repair was decided on: on another one nothing is done.
 */
export type RepairOptions = ScrubOptions & Readonly<{ isDryRun?: boolean; expected?: string | undefined }>;

const settleMs = 1500;
const chunk = 1000;

/**
 * Brings a stream and its archive forward from each other, then lets the read models of it go on, or makes them anew
 * where events changed their places. What neither has is recorded as lost.
 *
 * Only one process repairs at a time; an archive that somebody keeps stands still meanwhile, or the repair is refused
 * and begins again.
 */
export async function repairStream(stores: Repairable, stream: StreamName, options: RepairOptions): Promise<Repaired> {
  const { store, network, source } = stores;
  const repaired = await store.alone(() => repairStores(stores, stream, options));
  if (repaired.done.length === 0) return repaired;
  const models = { pools: store.pools, network, source };
  const rebuilt: string[] = [];
  if (repaired.isRestored) {
    if (!repaired.isExact) rebuilt.push(...(await rebuildModels(models, stream, options.signal)));
    await resumeModels(models, stream);
    // A projection that met the stream half restored may record its stop only now.
    await pause(settleMs, undefined, { signal: options.signal }).catch(() => undefined);
    await resumeModels(models, stream);
  }
  const done = [...repaired.done, ...rebuilt];
  await store.recordRepair(stream, [...sentences(repaired.report), ...done]);
  return { ...repaired, done };
}

async function repairStores(stores: BothStores, stream: StreamName, options: RepairOptions): Promise<Repaired> {
  const report = await scrub(stores, stream, { ...options, isPruning: false });
  const nothing = { report, done: [], isExact: true, isRestored: false };
  const isExpected = options.expected === undefined || options.expected === findingOf(report);
  if (!isDamaged(report) || !isExpected || options.isDryRun === true) return nothing;
  const done: string[] = [];
  await recordLosses(stores, report);
  if (report.inArchive.length > 0) done.push(...(await repairArchive(stores, report)));
  if (!isRestorationNeeded(report)) return { ...nothing, done };
  const { isExact, saying } = await repairStreamItself(stores, report, options);
  return { report, done: [...done, saying], isExact, isRestored: true };
}

/** What both have lost needs no restoration by itself: it is recorded. */
function isRestorationNeeded(report: ScrubReport): boolean {
  return isStreamDamaged({ ...report, inBoth: [] });
}

async function recordLosses({ store }: BothStores, report: ScrubReport): Promise<void> {
  const { stream } = report;
  for (const { first, last } of report.inBoth) {
    const links = await store.read(stream, first - 1, Math.min(last - first + 1, chunk));
    const ids = links.filter(({ sequence }) => sequence <= last).map(({ id }) => id);
    await store.recordLoss({ stream, first, last, ids, reason: 'damaged in the stream and in the archive' });
  }
}

/** Restores the stream; what it holds beyond the archive is archived first, so that nothing hangs on this process. */
async function repairStreamItself(
  stores: BothStores,
  report: ScrubReport,
  { onProgress }: ScrubOptions,
): Promise<{ isExact: boolean; saying: string }> {
  const { store } = stores;
  const { stream, state, inBoth } = report;
  const before = await streamInfo(stores, stream);
  const isReadable = before !== undefined && state !== 'restoring';
  // Two lives of a stream are joined when somebody asks for it, who is asked again where that is cut off.
  if (isReadable && state !== 'replaced' && state !== 'emptied') await holdStream(stores, before);
  const info = await streamInfo(stores, stream);
  const head = await store.lead(stream, '');
  const beyond = isReadable && info ? await rawBetween(stores, stream, head.position, info.state.last_seq) : [];
  const end = beyond.at(-1)?.sequence ?? head.position;
  if (head.followed > end) await store.recordLoss(wentBack(stream, end + 1, head.followed));
  const written = [...report.foreign, ...beyond];
  const news = await withoutRepeated(stores, report, written);
  const isExact =
    report.foreign.length === 0 &&
    news.length === beyond.length &&
    head.followed <= end &&
    (beyond.length === 0 || (state !== 'replaced' && state !== 'emptied'));
  const added = isExact ? beyond : renumbered(news, head.position + 1);
  const links = chained(stream, added, head.hash);
  if (!(await store.extend(head, links)))
    throw new AppError('CONFLICT', `Somebody else writes the archive of ${stream}`);
  const last = links.at(-1) ?? { sequence: head.position, hash: head.hash };
  const { incarnation, lastSequence } = await restoreStream(stores, {
    stream,
    position: last.sequence,
    incarnation: isExact ? head.incarnation : undefined,
    onProgress,
  });
  await store.moveHead({ stream, position: last.sequence, hash: last.hash, incarnation });
  const but = inBoth.length > 0 ? ', but for what is lost' : '';
  const moved =
    added.length === 0 || isExact
      ? ''
      : `; ${added.length} events written after it had gone back follow at new sequences`;
  return { isExact, saying: `${stream} was restored from the archive to ${lastSequence}${but}${moved}.` };
}

const wentBack = (stream: StreamName, first: number, last: number): Loss => ({
  stream,
  first,
  last,
  ids: [],
  reason: 'the stream went back before they were archived; only the read models had seen them',
});

const renumbered = (events: readonly RawEvent[], first: number): RawEvent[] =>
  events.map((event, index) => ({ ...event, sequence: first + index }));

/** Without facts that were only written again because the stream did not have them any more. */
async function withoutRepeated(
  { store }: BothStores,
  { stream, foreign, inStream }: ScrubReport,
  events: readonly RawEvent[],
): Promise<readonly RawEvent[]> {
  const first = Math.min(foreign[0]?.sequence ?? Infinity, inStream[0]?.first ?? Infinity);
  if (first === Infinity) return events;
  const known = await store.idsFrom(stream, first);
  return events.filter(({ id }) => !known.has(id));
}
