import type { Recorded } from '../../../commands/ports.ts';
import type { StreamName } from '../../../events/streams.ts';

/** The end of a stream; the first sequence is beyond the last one while the stream is empty. */
export type Head = Readonly<{ incarnation: string; firstSequence: number; lastSequence: number }>;

/** Facts of a stream in its order, and how many more there are after them. */
export type Batch = Readonly<{ facts: readonly Recorded[]; behind: number }>;

/**
 * What the engine needs of the log.
 *
 * `follow` gives facts after a sequence for ever, until its signal ends it; an event that cannot be read, or one that
 * is missing, is an error with the `sequence` of it.
 */
export type Source = Readonly<{
  follow: (
    stream: StreamName,
    after: number,
    options: { maxFacts?: number; signal: AbortSignal },
  ) => AsyncIterable<Batch>;
  head: (stream: StreamName) => Promise<Head>;
}>;

/** The sequence that an error of the log is about, if it is about an event at all. */
export function sequenceOf(caught: unknown): number | undefined {
  if (typeof caught !== 'object' || caught === null || !('sequence' in caught)) return undefined;
  return typeof caught.sequence === 'number' ? caught.sequence : undefined;
}
