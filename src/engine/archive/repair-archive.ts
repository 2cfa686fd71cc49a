import { forgets, type StreamName } from '../../events/streams.ts';
import type { BothStores } from './archive.ts';
import { beginning, chained, isSame, isSound, type Link, provesItself, type RawEvent } from './chain.ts';
import { readRaw, streamInfo } from './raw.ts';
import type { Range, ScrubReport } from './report.ts';
import type { Anchor } from './retention.ts';

const chunk = 1000;

/**
 * Writes rows of the archive anew from the stream and ties the chain again, until it meets what is sound.
 *
 * Gives back what was done, in sentences.
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

type Tie = Readonly<{ range: Range; before: Link | undefined; end: number }>;

/** Gives back the last sequence that was written. */
async function tie(stores: BothStores, stream: StreamName, { range, before, end }: Tie): Promise<number> {
  let previous = before?.hash ?? beginning;
  let at = range.first - 1;
  let tiedTo = before?.sequence ?? 0;
  while (at < end) {
    const upTo = Math.min(at + chunk, end);
    const links = (await stores.store.read(stream, at, chunk)).filter(({ sequence }) => sequence <= upTo);
    const events = await rawBetween(stores, stream, at, upTo);
    const anchors = await stores.store.anchors(stream, tiedTo, upTo);
    const given = { events: chosen(stream, links, events), links, anchors, previous, after: tiedTo };
    const fresh = await tiedAgain(stores, stream, given);
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
 * Puts events into a chain again, which goes on from its anchors; where a sound row says otherwise, the anchor is what
 * was damaged.
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
