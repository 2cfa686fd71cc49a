import type { StreamName } from '../../events/streams.ts';
import { beginning, hashOf, isSame, isSound, type Link, provesItself, type RawEvent } from './chain.ts';
import { type Range, Ranges } from './report.ts';
import type { Anchor, Drops, Pruning, Walked } from './retention.ts';
import type { ArchiveHead } from './store.ts';

/** What both stores hold of the same sequences. */
type Chunk = Readonly<{
  links: readonly Link[];
  events: ReadonlyMap<number, RawEvent>;
  anchors: readonly Anchor[];
}>;

/** What was found in the end; `missing` is sound in the archive and was not handed over by the stream. */
export type Found = Readonly<{
  events: number;
  inStream: readonly Range[];
  inArchive: readonly Range[];
  inBoth: readonly Range[];
  missing: readonly Range[];
  foreign: readonly RawEvent[];
}>;

/** Rows of a chunk that the stream has dropped as its policy says, with the subject of each. */
type Dropped = Pruning & Readonly<{ subjects: readonly string[] }>;

/**
 * How a walk judges: whether the stream keeps everything, what is known to be lost, and what the stream drops by
 * itself.
 */
export type Judging = Readonly<{ isWhole: boolean; losses: readonly Range[]; drops: Drops }>;

/** So many rows that seem to be missing are looked at again once the walk is over. */
const mostLate = 100_000;

/** A walk through both copies of a stream, chunk after chunk in their order. */
export class Judge {
  /** Rows and events that were walked past. */
  events = 0;
  readonly #stream: StreamName;
  readonly #how: Judging;
  readonly #found = { inStream: new Ranges(), inArchive: new Ranges(), inBoth: new Ranges(), missing: new Ranges() };
  readonly #foreign: RawEvent[] = [];
  readonly #late: Walked[] = [];
  #last = 0;
  #lastKept = 0;
  /** The hash that the next link must follow; undefined after a loss, where what follows is tied to nothing. */
  #tie: Uint8Array | undefined = beginning;

  constructor(stream: StreamName, how: Judging) {
    this.#stream = stream;
    this.#how = how;
  }

  /** Judges what both stores hold up to the end of the chunk; gives back what may be dropped of it. */
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

  /** What was found, once all was taken. */
  async end({ position, hash }: ArchiveHead): Promise<Found> {
    if (this.events > 0 && this.#tie && !isSame(this.#tie, hash)) this.#found.inArchive.add(position);
    const dropped = await this.#how.drops.droppedSince(this.#late);
    const missing = new Ranges();
    for (const { sequence } of this.#late) if (!dropped.has(sequence)) missing.add(sequence);
    const { inStream, inArchive, inBoth, missing: others } = this.#found;
    return {
      events: this.events,
      inStream: inStream.all(),
      inArchive: inArchive.all(),
      inBoth: inBoth.all(),
      missing: [...missing.all(), ...others.all()],
      foreign: this.#foreign,
    };
  }

  /** What neither copy has before a sequence is lost where the stream keeps everything. */
  #noteAbsent(sequence: number): void {
    this.events += 1;
    for (let gone = this.#last + 1; this.#how.isWhole && gone < sequence; gone++)
      if (!this.#isLost(gone)) this.#found.inBoth.add(gone);
    this.#last = sequence;
    if (this.#isLost(sequence - 1)) this.#tie = undefined;
  }

  #judge(sequence: number, link: Link | undefined, event: RawEvent | undefined): void {
    const { inStream, inArchive, inBoth } = this.#found;
    if (!link) return inArchive.add(sequence);
    const follows = this.#tie === undefined || isSame(link.previous, this.#tie);
    const isLinkSound = isSound(this.#stream, link);
    if (!event) {
      if (!isLinkSound) return inBoth.add(sequence);
      this.#noteMissing(link);
      if (!follows) inArchive.add(sequence);
    } else if (isSame(hashOf(this.#stream, event, link.previous), link.hash)) {
      if (!isLinkSound || !follows) inArchive.add(sequence);
    } else if (isLinkSound) {
      inStream.add(sequence);
      if (provesItself(event) && event.id !== link.id) this.#foreign.push(event);
    } else (provesItself(event) ? inArchive : provesItself(link) ? inStream : inBoth).add(sequence);
  }

  #noteMissing({ sequence, subject }: Link): void {
    if (this.#late.length < mostLate) this.#late.push({ sequence, subject, place: this.#how.drops.place() });
    else this.#found.missing.add(sequence);
  }

  #isLost(sequence: number): boolean {
    return this.#how.losses.some((one) => one.first <= sequence && sequence <= one.last);
  }
}

/** Rows to be dropped, and the anchors that take their place: one for each run of them. */
function createRuns(before: number) {
  let kept = before;
  let open: Anchor | undefined;
  const gone: Link[] = [];
  const anchors: (Anchor & { after: number })[] = [];
  const close = (): void => {
    if (open) anchors.push({ after: kept, sequence: open.sequence, hash: open.hash });
    open = undefined;
  };
  return {
    drop: (link: Link): void => {
      open = link;
      gone.push(link);
    },
    /** An anchor that is there already; it takes the place of those before it. */
    pass: (anchor: Anchor): void => {
      if (open) open = anchor;
    },
    keep: (sequence: number): void => {
      close();
      kept = sequence;
    },
    lastKept: () => kept,
    all: (): Dropped => {
      close();
      return {
        sequences: gone.map(({ sequence }) => sequence),
        subjects: gone.map(({ subject }) => subject),
        anchors,
      };
    },
  };
}
