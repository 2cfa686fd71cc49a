import { AppError } from '../../commands/errors.ts';
import type { StreamName } from '../../events/streams.ts';
import { type BothStores } from './archiver.ts';
import { beginning, chained, isSame, isSound, type Link, provesItself, type RawEvent } from './chain.ts';
import { isDamaged, type Range, type ScrubReport } from './damage.ts';
import { readRaw, streamInfo } from './raw.ts';
import { holdStream, restoreStream } from './restore.ts';
import { scrub, type ScrubOptions } from './scrub.ts';
import type { Loss } from './book.ts';

/** What a mending did, in sentences; `isExact` when every event is again where it was. */
export type Mended = Readonly<{ report: ScrubReport; done: readonly string[]; isExact: boolean; isRestored: boolean }>;

const chunk = 1000;

/** `onDisk`: what is wrong with the stream's files, though the broker still has in memory what was there. `isDryRun` only looks. */
export type MendOptions = ScrubOptions & Readonly<{ onDisk?: string | undefined; isDryRun?: boolean }>;

/**
 * Looks at both copies of a stream and brings each forward from the other; what neither has is recorded as lost.
 *
 * Only one process mends at a time. Needs the archive's leader to stand still meanwhile, or it is refused and begins again.
 */
export async function mend(stores: BothStores, stream: StreamName, options: MendOptions): Promise<Mended> {
  return stores.store.alone(async () => {
    const report = { ...(await scrub(stores, stream, options)), onDisk: options.onDisk };
    const nothing = { report, done: [], isExact: true, isRestored: false };
    if (!isDamaged(report) || options.isDryRun === true) return nothing;
    const done: string[] = [];
    await recordLosses(stores, report);
    if (report.inArchive.length > 0) done.push(...(await mendArchive(stores, report)));
    const { state, inStream, foreign, onDisk } = report;
    const needsStream = state !== 'whole' || inStream.length + foreign.length > 0 || onDisk !== undefined;
    if (!needsStream) return { ...nothing, done };
    const { isExact, saying } = await mendStream(stores, report, options);
    return { report, done: [...done, saying], isExact, isRestored: true };
  });
}

async function recordLosses({ store }: BothStores, report: ScrubReport): Promise<void> {
  const { stream } = report;
  for (const { first, last } of report.inBoth) {
    const links = await store.read(stream, first - 1, Math.min(last - first + 1, chunk));
    const ids = links.filter(({ sequence }) => sequence <= last).map(({ id }) => id);
    await store.recordLoss({ stream, first, last, ids, reason: 'damaged in the stream and in the archive' });
  }
}

/** Writes rows anew from the stream and ties the chain again, until it meets what is sound. */
async function mendArchive(stores: BothStores, { stream, inArchive }: ScrubReport): Promise<string[]> {
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

type Tie = Readonly<{ range: Range; before: Link | undefined; end: number }>;

/** Gives back the last sequence that was written. */
async function tie(stores: BothStores, stream: StreamName, { range, before, end }: Tie): Promise<number> {
  let previous = before?.hash ?? beginning;
  let at = range.first - 1;
  while (at < end) {
    const upTo = Math.min(at + chunk, end);
    const links = (await stores.store.read(stream, at, chunk)).filter(({ sequence }) => sequence <= upTo);
    const events = await rawBetween(stores, stream, at, upTo);
    const fresh = chained(stream, chosen(stream, links, events), previous);
    const old = new Map(links.map((link) => [link.sequence, link]));
    const meets = fresh.findIndex(({ sequence, previous: p }) => {
      const link = old.get(sequence);
      return sequence > range.last && link !== undefined && isSame(link.previous, p) && isSound(stream, link);
    });
    await stores.store.replace(stream, meets < 0 ? fresh : fresh.slice(0, meets));
    if (meets >= 0) return fresh[meets]?.sequence ?? upTo;
    previous = fresh.at(-1)?.hash ?? previous;
    at = upTo;
  }
  return end;
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

async function rawBetween(stores: BothStores, stream: StreamName, after: number, upTo: number): Promise<RawEvent[]> {
  const events: RawEvent[] = [];
  if (!(await streamInfo(stores, stream))) return events;
  for await (const batch of readRaw(stores, stream, { after, upTo })) events.push(...batch);
  return events;
}

/** Restores the stream; what it holds beyond the archive is archived first, so that nothing hangs on this process. */
async function mendStream(
  stores: BothStores,
  report: ScrubReport,
  { onProgress }: ScrubOptions,
): Promise<{ isExact: boolean; saying: string }> {
  const { store } = stores;
  const { stream, state, inBoth } = report;
  const before = await streamInfo(stores, stream);
  const isReadable = before !== undefined && state !== 'restoring';
  // Two lives of a stream are joined when somebody asks for it, who is asked again where that is cut off.
  if (isReadable && state !== 'other life') await holdStream(stores, before);
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
    (beyond.length === 0 || state !== 'other life');
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
