import type { StreamName } from '../../events/streams.ts';
import { beginning, hashOf, isSame, isSound, type Link, provesItself, type RawEvent } from './chain.ts';
import { type Anchor, createRuns, type Dropped, type Drops, type Walked } from './retention.ts';
import { type SequenceRange, SequenceRanges } from './states.ts';
import type { ArchiveHead } from './store.ts';

/** What both stores hold of the same sequences. */
type Chunk = Readonly<{
  links: readonly Link[];
  events: ReadonlyMap<number, RawEvent>;
  anchors: readonly Anchor[];
}>;

/** The result of a walk; `missing` is sound in the archive and was not delivered by the stream. */
export type Match = Readonly<{
  events: number;
  inStream: readonly SequenceRange[];
  inArchive: readonly SequenceRange[];
  inBoth: readonly SequenceRange[];
  missing: readonly SequenceRange[];
  foreign: readonly SequenceRange[];
}>;

/**
 * The rules of a walk: whether the stream keeps everything, whether it was created anew, which losses are known, and
 * what the stream drops by policy.
 */
type Judging = Readonly<{ isWhole: boolean; isOtherLife: boolean; losses: readonly SequenceRange[]; drops: Drops }>;

/** So many rows that seem to be missing are checked again once the walk is over. */
const mostLate = 100_000;

/** A walk through both copies of a stream, chunk after chunk in their order. */
export class CopyComparison {
  /** Rows and events that were walked past. */
  events = 0;
  readonly #stream: StreamName;
  readonly #how: Judging;
  readonly #found = {
    inStream: new SequenceRanges(),
    inArchive: new SequenceRanges(),
    inBoth: new SequenceRanges(),
    missing: new SequenceRanges(),
    foreign: new SequenceRanges(),
  };
  readonly #late: Walked[] = [];
  #last = 0;
  #lastKept = 0;
  /** The hash that the next link must follow; undefined after a loss, where what follows is tied to nothing. */
  #tie: Uint8Array | undefined = beginning;

  constructor(stream: StreamName, how: Judging) {
    this.#stream = stream;
    this.#how = how;
  }

  /** Compares both stores up to the end of the chunk; returns the rows that may be dropped. */
  take({ links, events, anchors }: Chunk): Dropped {
    const rows = new Map(links.map((link) => [link.sequence, link]));
    const runs = createRuns(this.#lastKept);
    const waiting = [...anchors];
    const tieOn = (sequence: number): void => {
      for (let anchor = waiting[0]; anchor && anchor.sequence < sequence; anchor = waiting[0]) {
        this.#tie = anchor.hash;
        runs.pass(anchor);
        waiting.shift();
      }
    };
    for (const sequence of [...new Set([...rows.keys(), ...events.keys()])].toSorted((a, b) => a - b)) {
      const [link, event] = [rows.get(sequence), events.get(sequence)];
      this.#noteAbsent(sequence);
      tieOn(sequence);
      const isDropped = link !== undefined && this.#how.drops.isDropped(link) && !event;
      if (isDropped) runs.drop(link);
      else if (link) runs.keep(sequence);
      if (!isDropped && !this.#isLost(sequence)) this.#judge(sequence, link, event);
      if (this.#isLost(sequence)) this.#tie = undefined;
      else if (link) this.#tie = link.hash;
    }
    tieOn(Infinity);
    this.#lastKept = runs.lastKept();
    return runs.all();
  }

  /** The result, once all rows were read. */
  async end({ position, hash }: ArchiveHead): Promise<Match> {
    if (this.events > 0 && this.#tie && !isSame(this.#tie, hash)) this.#found.inArchive.add(position);
    const dropped = await this.#how.drops.droppedSince(this.#late);
    const missing = new SequenceRanges();
    for (const { sequence } of this.#late) if (!dropped.has(sequence)) missing.add(sequence);
    const { inStream, inArchive, inBoth, missing: others, foreign } = this.#found;
    return {
      events: this.events,
      inStream: inStream.all(),
      inArchive: inArchive.all(),
      inBoth: inBoth.all(),
      missing: [...missing.all(), ...others.all()],
      foreign: foreign.all(),
    };
  }

  /** Records events that neither copy has before a sequence as lost, where the stream keeps everything. */
  #noteAbsent(sequence: number): void {
    this.events += 1;
    for (let gone = this.#last + 1; this.#how.isWhole && gone < sequence; gone++)
      if (!this.#isLost(gone)) this.#found.inBoth.add(gone);
    this.#last = sequence;
    if (this.#isLost(sequence - 1)) this.#tie = undefined;
  }

  #judge(sequence: number, link: Link | undefined, event: RawEvent | undefined): void {
    const { inStream, inArchive, inBoth, foreign } = this.#found;
    if (!link) return (this.#how.isOtherLife ? foreign : inArchive).add(sequence);
    const follows = this.#tie === undefined || isSame(link.previous, this.#tie);
    const isLinkSound = isSound(this.#stream, link);
    if (!event) {
      if (!isLinkSound) return inBoth.add(sequence);
      this.#noteMissing(link);
      if (!follows) inArchive.add(sequence);
    } else if (isSame(hashOf(this.#stream, event, link.previous), link.hash)) {
      if (!isLinkSound || !follows) inArchive.add(sequence);
    } else {
      const isEventSound = provesItself(event);
      const isForeign = isEventSound && event.id !== link.id && (isLinkSound || this.#how.isOtherLife);
      if (isForeign) foreign.add(sequence);
      if (isLinkSound) inStream.add(sequence);
      else (isEventSound && !isForeign ? inArchive : provesItself(link) ? inStream : inBoth).add(sequence);
    }
  }

  #noteMissing({ sequence, subject }: Link): void {
    if (this.#late.length < mostLate) this.#late.push({ sequence, subject, place: this.#how.drops.place() });
    else this.#found.missing.add(sequence);
  }

  #isLost(sequence: number): boolean {
    return this.#how.losses.some((one) => one.first <= sequence && sequence <= one.last);
  }
}
