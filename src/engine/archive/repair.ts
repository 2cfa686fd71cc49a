import { forgets, type StreamName } from '../../events/streams.ts';
import type { FactSource } from '../models/engine/source.ts';
import type { BothStores } from './archive.ts';
import {
  beginning,
  chained,
  isSame,
  isSound,
  type Link,
  provesItself,
  type RawEvent,
  readRaw,
  streamInfo,
} from './chain.ts';
import { rebuildModels, resumeModels } from './models.ts';
import { TreeCheck } from './proof/tree-check.ts';
import { archiveBeyond, holdStream, restoreStream, saveForeign } from './restore.ts';
import type { Anchor } from './retention.ts';
import { scrub, type StreamScrubOptions } from './scrub.ts';
import {
  findingOf,
  isOtherLife,
  isDamaged,
  isStreamDamaged,
  type SequenceRange,
  type ScrubReport,
  sentences,
} from './states.ts';
import { wentBack } from './store.ts';

/** Both stores, the log as read models take it, and the network’s data folder, where foreign events are saved. */
export type Repairable = BothStores & Readonly<{ source: FactSource; folder: string }>;

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
export type StreamRepairOptions = StreamScrubOptions & Readonly<{ isDryRun?: boolean; expected?: string | undefined }>;

const chunk = 1000;

/**
 * Brings a stream and its archive forward from each other, then resumes the read models of it, or makes them anew where
 * they may have followed other events. Records as lost the events that neither has.
 *
 * Only one process repairs at a time; the process that keeps the archive pauses meanwhile, or the repair is refused and
 * starts again.
 */
export async function repairStream(
  stores: Repairable,
  stream: StreamName,
  options: StreamRepairOptions,
): Promise<Repaired> {
  const { store, network, source } = stores;
  const repaired = await store.alone(() => repairStores(stores, stream, options));
  if (repaired.done.length === 0) return repaired;
  const models = { pools: store.pools, network, source };
  const rebuilt: string[] = [];
  if (repaired.isRestored) {
    if (!repaired.isExact) rebuilt.push(...(await rebuildModels(models, stream, options.signal)));
    await resumeModels(models, stream);
  }
  const done = [...repaired.done, ...rebuilt];
  await store.recordRepair(stream, [...sentences(repaired.report), ...done]);
  return { ...repaired, done };
}

async function repairStores(stores: Repairable, stream: StreamName, options: StreamRepairOptions): Promise<Repaired> {
  const report = await scrub(stores, stream, { ...options, isPruning: false });
  const nothing = { report, done: [], isExact: true, isRestored: false };
  const isExpected = options.expected === undefined || options.expected === findingOf(report);
  if (!isDamaged(report) || !isExpected || options.isDryRun === true) return nothing;
  const done: string[] = [];
  await recordLosses(stores, report);
  if (report.inArchive.length > 0) done.push(...(await repairArchive(stores, report)));
  if (report.tiles.length > 0) done.push(...(await repairTree(stores, stream)));
  if (!isRestorationNeeded(report)) return { ...nothing, done };
  const { isExact, saying } = await repairStreamItself(stores, report, options);
  return { report, done: [...done, saying], isExact, isRestored: true };
}

/** Writes hashes of a stream's tree anew from its archive, where the signed checkpoint follows from them. */
async function repairTree({ store }: BothStores, stream: StreamName): Promise<string[]> {
  const head = await store.head(stream);
  if (!head) return [];
  const check = new TreeCheck(store.trees, head);
  for (let after = 0; after < head.leaves;) {
    const { links, isEnd } = await store.read(stream, after, chunk);
    after = isEnd ? head.leaves : (links.at(-1)?.sequence ?? head.leaves);
    await check.take(links, after);
  }
  const damage = await check.end();
  if (!damage.isProven || damage.runs.length === 0) return [];
  await store.trees.rewrite(stream, damage.runs);
  // The archive's keeper has to read the end of the tree again.
  await store.lead(stream);
  return [`${damage.runs.length} tiles of the tree of ${stream} were written anew from its archive.`];
}

/** A loss on both sides alone needs no restoration: it is recorded. */
function isRestorationNeeded(report: ScrubReport): boolean {
  return isStreamDamaged({ ...report, inBoth: [] });
}

async function recordLosses({ store }: BothStores, report: ScrubReport): Promise<void> {
  const { stream } = report;
  for (const { first, last } of report.inBoth) {
    const { links } = await store.read(stream, first - 1, Math.min(last - first + 1, chunk));
    const ids = links.filter(({ sequence }) => sequence <= last).map(({ id }) => id);
    await store.recordLoss({ stream, first, last, ids, reason: 'damaged in the stream and in the archive' });
  }
}

/**
 * Restores the stream from the archive. Archives the stream's later events first; where it holds the events of another
 * incarnation, or others instead of archived ones, writes those to a file instead.
 */
async function repairStreamItself(
  stores: Repairable,
  report: ScrubReport,
  { onProgress }: StreamScrubOptions,
): Promise<{ isExact: boolean; saying: string }> {
  const { store } = stores;
  const { stream, inBoth, foreign } = report;
  const held = await holdStream(stores, stream);
  const head = await store.lead(stream);
  const beyond = { first: head.position + 1, last: held?.state.last_seq ?? 0 };
  const isForked = held !== undefined && (foreign.length > 0 || isOtherLife(held, head));
  const saved = isForked ? await saveForeign(stores, stream, [...foreign, beyond]) : undefined;
  const end = isForked ? head : await archiveBeyond(stores, head, beyond);
  const isExact = saved === undefined && head.followed <= end.position;
  if (head.followed > end.position) {
    const reason = saved
      ? `${wentBack}; what it held in their place is in ${saved.file}`
      : `${wentBack}; only the read models had seen them`;
    await store.recordLoss({ stream, first: end.position + 1, last: head.followed, ids: [], reason });
  }
  const { incarnation, lastSequence } = await restoreStream(stores, {
    stream,
    position: end.position,
    incarnation: isExact ? head.incarnation : undefined,
    onProgress,
  });
  await store.moveHead({ ...end, incarnation });
  const but = inBoth.length > 0 ? ', but for what is lost' : '';
  const others = saved ? `; ${saved.events} events that were in its place are in ${saved.file}` : '';
  return { isExact, saying: `${stream} was restored from the archive to ${lastSequence}${but}${others}.` };
}

/**
 * Writes rows of the archive anew from the stream and chains them again, up to the first sound row.
 *
 * Returns the repairs, in sentences.
 */
export async function repairArchive(stores: BothStores, { stream, inArchive }: ScrubReport): Promise<string[]> {
  const head = await stores.store.head(stream);
  const done: string[] = [];
  let tied = 0;
  for (const range of inArchive) {
    if (!head || range.last <= tied) continue;
    const before = await stores.store.before(stream, range.first);
    tied = await tie(stores, stream, { range, before, end: head.position });
    done.push(`Archive rows ${range.first} to ${range.last} of ${stream} were written anew from the stream.`);
  }
  const last = head && (await stores.store.before(stream, head.position + 1));
  if (head && last && !isSame(last.hash, head.hash)) {
    await stores.store.moveHead({ ...head, position: last.sequence, hash: last.hash });
    done.push(`The chain of ${stream} ends with another hash than before: it was changed, not only damaged.`);
  }
  return done;
}

type Tie = Readonly<{ range: SequenceRange; before: Link | undefined; end: number }>;

/** Returns the last sequence that was written. */
async function tie(stores: BothStores, stream: StreamName, { range, before, end }: Tie): Promise<number> {
  let previous = before?.hash ?? beginning;
  let at = range.first - 1;
  let tiedTo = before?.sequence ?? 0;
  while (at < end) {
    const page = await stores.store.read(stream, at, chunk);
    const upTo = Math.min(at + chunk, end, page.isEnd ? end : (page.links.at(-1)?.sequence ?? end));
    const links = page.links.filter(({ sequence }) => sequence <= upTo);
    const events = await rawBetween(stores, stream, at, upTo);
    const anchors = await stores.store.anchors(stream, tiedTo, upTo);
    const input = { events: chosen(stream, links, events), links, anchors, previous, after: tiedTo };
    const fresh = await tiedAgain(stores, stream, input);
    const old = new Map(links.map((link) => [link.sequence, link]));
    const meets = fresh.findIndex(({ sequence, previous: p }) => {
      const link = old.get(sequence);
      return sequence > range.last && link !== undefined && isSame(link.previous, p) && isSound(stream, link);
    });
    await stores.store.replace(stream, meets < 0 ? fresh : fresh.slice(0, meets));
    if (meets >= 0) return fresh[meets]?.sequence ?? upTo;
    previous = fresh.at(-1)?.hash ?? previous;
    tiedTo = fresh.at(-1)?.sequence ?? tiedTo;
    at = upTo;
  }
  return end;
}

type Retied = Readonly<{
  events: readonly RawEvent[];
  links: readonly Link[];
  anchors: readonly Anchor[];
  previous: Uint8Array;
  /** The sequence of the event that `previous` is the hash of. */
  after: number;
}>;

/**
 * Chains events again from their anchors on; where a sound row contradicts an anchor, the anchor is the damaged one.
 */
async function tiedAgain(
  { store, policies }: BothStores,
  stream: StreamName,
  { events, links, anchors, previous, after }: Retied,
): Promise<Link[]> {
  const old = new Map(links.map((link) => [link.sequence, link]));
  const fresh: Link[] = [];
  let hash = previous;
  let last = after;
  for (const event of events) {
    const anchor = anchors.findLast(({ sequence }) => sequence > last && sequence < event.sequence);
    const link = old.get(event.sequence);
    const isAfterDropped = anchor !== undefined || (forgets(policies[stream]) && event.sequence > last + 1);
    if (anchor) hash = anchor.hash;
    if (isAfterDropped && link && isSound(stream, link) && !isSame(link.previous, hash)) {
      hash = link.previous;
      await store.setAnchor(stream, { sequence: anchor?.sequence ?? event.sequence - 1, hash });
    }
    const [tied] = chained(stream, [event], hash);
    if (tied) fresh.push(tied);
    hash = tied?.hash ?? hash;
    last = event.sequence;
  }
  return fresh;
}

/** Of each sequence the copy to believe: a sound row, else the stream's event, else whatever proves itself. */
function chosen(stream: StreamName, links: readonly Link[], events: readonly RawEvent[]): RawEvent[] {
  const bySequence = new Map<number, RawEvent>(events.map((event) => [event.sequence, event]));
  for (const link of links) {
    const event = bySequence.get(link.sequence);
    if (!event || isSound(stream, link) || (provesItself(link) && !provesItself(event)))
      bySequence.set(link.sequence, link);
  }
  return [...bySequence.values()].toSorted((a, b) => a.sequence - b.sequence);
}

/** Events of a stream after a sequence up to another; none where there is no stream. */
export async function rawBetween(
  stores: BothStores,
  stream: StreamName,
  after: number,
  upTo: number,
): Promise<RawEvent[]> {
  const events: RawEvent[] = [];
  if (!(await streamInfo(stores, stream))) return events;
  for await (const batch of readRaw(stores, stream, { after, upTo })) events.push(...batch);
  return events;
}
