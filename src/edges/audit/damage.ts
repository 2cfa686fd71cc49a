import type { StreamName } from '../../events/streams.ts';
import type { RawEvent } from './chain.ts';

/** Sequences from one to another, both included. */
export type Range = Readonly<{ first: number; last: number }>;

/** How a stream stands as a whole: there, gone, half restored, held while it was to be restored, with an end before the archive's, with fewer events than it counts, or with another life. */
export type StreamState = 'whole' | 'missing' | 'restoring' | 'held' | 'short' | 'holes' | 'other life';

/** What one look at both copies of a stream found. */
export type ScrubReport = Readonly<{
  stream: StreamName;
  state: StreamState;
  /** Events compared. */
  events: number;
  /** The archive's end when the look began. */
  position: number;
  /** Missing or different in the stream, sound in the archive. */
  inStream: readonly Range[];
  /** Missing or different in the archive, sound in the stream. */
  inArchive: readonly Range[];
  /** Damaged in both. */
  inBoth: readonly Range[];
  /** Events of the stream, sound in themselves, at sequences where the archive holds others: written after the stream had gone back. */
  foreign: readonly RawEvent[];
  /** What is wrong on disk with what the broker still has in memory. */
  onDisk?: string | undefined;
}>;

/** Whether there is anything to mend. */
export function isDamaged({ state, inStream, inArchive, inBoth, foreign, onDisk }: ScrubReport): boolean {
  return (
    state !== 'whole' ||
    onDisk !== undefined ||
    [inStream, inArchive, inBoth, foreign].some((found) => found.length > 0)
  );
}

/** Sequences as ranges; they come in order. */
export function rangesOf(sequences: readonly number[]): Range[] {
  const ranges: { first: number; last: number }[] = [];
  for (const sequence of sequences) {
    const open = ranges.at(-1);
    if (open?.last === sequence - 1) open.last = sequence;
    else ranges.push({ first: sequence, last: sequence });
  }
  return ranges;
}

/** What was found, in sentences for people; none where nothing was. */
export function sentences(report: ScrubReport): string[] {
  const { stream, state, position } = report;
  const list = (ranges: readonly Range[]): string => {
    const shown = ranges.slice(0, 5).map(({ first, last }) => (first === last ? `${first}` : `${first} to ${last}`));
    return shown.join(', ') + (ranges.length > 5 ? ` and ${ranges.length - 5} more ranges` : '');
  };
  const states: Record<StreamState, string[]> = {
    whole: [],
    missing: [`The broker has no stream ${stream}; the archive holds it to ${position}.`],
    restoring: [`${stream} was being restored from the archive, and that did not come to its end.`],
    held: [`${stream} was about to be restored from the archive, and that did not come to its end.`],
    short: [`${stream} ends before ${position}, which the archive holds: it has lost its end, or is an old copy.`],
    holes: [`${stream} has lost events in its middle.`],
    'other life': [`${stream} was created anew; the archive holds the one before it to ${position}.`],
  };
  const named: [readonly Range[], string][] = [
    [report.inStream, 'the stream; the archive has them'],
    [report.inArchive, 'the archive; the stream has them'],
    [report.inBoth, 'both stores: these are lost'],
  ];
  return [
    ...states[state],
    ...named
      .filter(([ranges]) => ranges.length > 0)
      .map(([ranges, where]) => `Events ${list(ranges)} of ${stream} are missing or damaged in ${where}.`),
    ...(report.foreign.length > 0
      ? [`${report.foreign.length} events of ${stream} were written over others after it had gone back.`]
      : []),
    ...(report.onDisk === undefined ? [] : [`On the broker's disk ${report.onDisk} of ${stream}.`]),
  ];
}
