import type { StreamInfo } from '@nats-io/jetstream';
import { forgets, type StreamName, type StreamPolicy } from '../../events/streams.ts';
import { incarnationOf } from '../log/streams.ts';
import type { ArchiveHead } from './store.ts';

/**
 * The need of a repair of a stream in some state: nothing is wrong, nothing is destroyed, two observations, an
 * operator.
 */
type Needs = 'no repair' | 'nothing more' | 'confirmation' | 'an operator';
type State = Readonly<{ repair: Needs; mayWrite: boolean }>;

/**
 * The possible states of a stream against its archive, and what follows from each. Every transition to `whole` is a
 * repair.
 */
export const streamStates = {
  /** It continues where the archive ends. */
  whole: { repair: 'no repair', mayWrite: true },
  /** The broker has no such stream. */
  missing: { repair: 'nothing more', mayWrite: false },
  /** A restoration that was decided on was cut off: the stream takes nothing in. */
  restoring: { repair: 'nothing more', mayWrite: false },
  /** It ends before the archive, or before what a read model has followed. */
  short: { repair: 'confirmation', mayWrite: false },
  /** It keeps everything and holds fewer events than it counts. */
  holes: { repair: 'confirmation', mayWrite: false },
  /** It was created anew and holds nothing. */
  emptied: { repair: 'confirmation', mayWrite: false },
  /** It was created anew and holds other events than the archive: both may be wanted. */
  replaced: { repair: 'an operator', mayWrite: true },
} as const satisfies Record<string, State>;

export type StreamState = keyof typeof streamStates;

/** Metadata of a stream that is being restored: it accepts no other events, and is not the log yet. */
export const restoringKey = 'annals-restoring';

/** Its value while the stream still holds what it held before. */
export const heldMark = 'held';

/**
 * Returns whether a stream was created anew since its archive began, so that it holds the events of another
 * incarnation.
 */
export function isOtherLife(info: StreamInfo, { position, incarnation }: ArchiveHead): boolean {
  return position > 0 && incarnationOf(info) !== incarnation;
}

/**
 * The state of a stream against the archive's end, by the broker's information; undefined `info` means that the broker
 * has no such stream.
 */
export function stateOf(
  info: StreamInfo | undefined,
  head: ArchiveHead,
  policy: Pick<StreamPolicy, 'keeps'>,
): StreamState {
  if (!info) return 'missing';
  if (info.config.metadata?.[restoringKey] !== undefined) return 'restoring';
  if (head.position === 0) return 'whole';
  const { messages, last_seq: last } = info.state;
  if (isOtherLife(info, head)) return messages === 0 ? 'emptied' : 'replaced';
  if (last < Math.max(head.position, head.followed)) return 'short';
  return !forgets(policy) && messages + head.lost < last ? 'holes' : 'whole';
}

/** Sequences from one to another, both included. */
export type SequenceRange = Readonly<{ first: number; last: number }>;

/** The result of one comparison of both copies of a stream. */
export type ScrubReport = Readonly<{
  stream: StreamName;
  state: StreamState;
  /** Events compared. */
  events: number;
  /** The archive's end when the comparison started. */
  position: number;
  /** Missing or different in the stream, sound in the archive. */
  inStream: readonly SequenceRange[];
  /** Missing or different in the archive, sound in the stream. */
  inArchive: readonly SequenceRange[];
  /** Damaged in both. */
  inBoth: readonly SequenceRange[];
  /** Sound in the stream, where the archive holds others: written after it had gone back, or was created anew. */
  foreign: readonly SequenceRange[];
  /** Tiles of the stream's tree that are damaged, by path. */
  tiles: readonly string[];
}>;

/** Returns whether there is anything to repair. */
export function isDamaged(report: ScrubReport): boolean {
  return report.inArchive.length > 0 || report.tiles.length > 0 || isStreamDamaged(report);
}

/** Returns whether the stream itself is damaged, which takes making it anew; else only the archive is. */
export function isStreamDamaged({ state, inStream, inBoth, foreign }: ScrubReport): boolean {
  return state !== 'whole' || [inStream, inBoth, foreign].some((match) => match.length > 0);
}

/** Sequences as ranges, however many there are. */
export class SequenceRanges {
  readonly #all: { first: number; last: number }[] = [];

  /** Adds a sequence or a range that starts behind, or within, the last one added. */
  add(first: number, last = first): void {
    const open = this.#all.at(-1);
    if (open && first <= open.last + 1) open.last = Math.max(open.last, last);
    else this.#all.push({ first, last });
  }

  /** The ranges, in order. */
  all(): readonly SequenceRange[] {
    return this.#all;
  }
}

/** Several lists of ranges as one, in order. */
export function joined(...lists: (readonly SequenceRange[])[]): readonly SequenceRange[] {
  const ranges = new SequenceRanges();
  for (const { first, last } of lists.flat().toSorted((a, b) => a.first - b.first)) ranges.add(first, last);
  return ranges.all();
}

/** The findings of a report, in sentences for people; none where there are none. */
export function sentences(report: ScrubReport): string[] {
  const { stream, state, position } = report;
  const list = (ranges: readonly SequenceRange[]): string => {
    const shown = ranges.slice(0, 5).map(({ first, last }) => (first === last ? `${first}` : `${first} to ${last}`));
    return shown.join(', ') + (ranges.length > 5 ? ` and ${ranges.length - 5} more ranges` : '');
  };
  const states: Record<StreamState, string[]> = {
    whole: [],
    missing: [`The broker has no stream ${stream}; the archive holds it to ${position}.`],
    restoring: [`${stream} was being restored from the archive, and that did not come to its end.`],
    short: [`${stream} ends before ${position}, which the archive holds: it has lost its end, or is an old copy.`],
    holes: [`${stream} has lost events in its middle.`],
    emptied: [`${stream} was created anew and holds nothing; the archive holds the one before it to ${position}.`],
    replaced: [
      `${stream} was created anew and holds other events than the archive, which holds the one before it to ${position}.`,
    ],
  };
  const named: [readonly SequenceRange[], string][] = [
    [report.inStream, 'the stream; the archive has them'],
    [report.inArchive, 'the archive; the stream has them'],
    [report.inBoth, 'both stores: these are lost'],
  ];
  return [
    ...states[state],
    ...named
      .filter(([ranges]) => ranges.length > 0)
      .map(([ranges, where]) => `Events ${list(ranges)} of ${stream} are missing or damaged in ${where}.`),
    ...(report.tiles.length > 0
      ? [
          `The tree of ${stream} is damaged: ${report.tiles.slice(0, 5).join(', ')}${report.tiles.length > 5 ? ` and ${report.tiles.length - 5} more` : ''}.`,
        ]
      : []),
    ...(report.foreign.length > 0
      ? [
          `Events ${list(report.foreign)} of ${stream} are others than the archive holds: a repair moves them to a file.`,
        ]
      : []),
  ];
}

/** A finding, distinguished from others by its text, and its time: milliseconds since 1970. */
export type Observation = Readonly<{ finding: string; at: number }>;

/**
 * How long a finding must last before it is believed, and how long a stream is not restored again after a restoration.
 */
export type Brakes = Readonly<{ confirmAfterMs: number; restoreEachMs: number }>;

/** What guards every stream, but for tests. */
export const brakes: Brakes = { confirmAfterMs: 10_000, restoreEachMs: 3_600_000 };

/** The measure for a damaged stream. */
export type RepairDecision =
  | Readonly<{ kind: 'restore' }>
  | Readonly<{ kind: 'observe again'; afterMs: number; since: Observation }>
  | Readonly<{ kind: 'ask'; why: string }>;

/**
 * The grounds of a decision: the policy, the earlier observation if there was one, and how long ago the stream was
 * restored last.
 */
export type Grounds = Readonly<{
  policy: Pick<StreamPolicy, 'restore'>;
  before?: Observation | undefined;
  restoredMsAgo?: number | null | undefined;
  brakes: Brakes;
  now: number;
}>;

/**
 * Returns whether a stream is restored without an operator, which deletes what it holds.
 *
 * Only on the same finding from two observations some time apart, and seldom; where there is nothing to delete, at
 * once.
 */
export function decide(
  report: ScrubReport,
  { policy, before, restoredMsAgo, brakes: limits, now }: Grounds,
): RepairDecision {
  const { repair } = streamStates[report.state];
  if (repair === 'an operator')
    return {
      kind: 'ask',
      why: `Both may be wanted: annals repair restores those of the archive, and writes the others to a file.`,
    };
  if (policy.restore === 'operator')
    return { kind: 'ask', why: `${report.stream} is restored only by an operator: annals repair.` };
  if (repair === 'nothing more') return { kind: 'restore' };
  const finding = findingOf(report);
  const since = before?.finding === finding ? before : { finding, at: now };
  const afterMs = since.at + limits.confirmAfterMs - now;
  if (afterMs > 0) return { kind: 'observe again', afterMs, since };
  if (restoredMsAgo != null && restoredMsAgo < limits.restoreEachMs)
    return { kind: 'ask', why: `${report.stream} was restored a short time ago, and is again only by annals repair.` };
  return { kind: 'restore' };
}

/**
 * The findings of a report against a stream, as a text that is the same for the same damage however far the log has
 * grown.
 */
export function findingOf({ state, inStream, inBoth, foreign }: ScrubReport): string {
  return JSON.stringify([state, inStream, inBoth, foreign]);
}
