import type { Recorded } from '../../../commands/ports.ts';
import type { StreamName } from '../../../events/streams.ts';

/** The end of a stream; the first sequence is beyond the last one while the stream is empty. */
export type SourceHead = Readonly<{ incarnation: string; firstSequence: number; lastSequence: number }>;

/** Facts of a stream in its order, how many bytes their events have, and how many more facts there are after them. */
export type FactBatch = Readonly<{ facts: readonly Recorded[]; bytes: number; behind: number }>;

/**
 * The part of the log that the engine needs.
 *
 * `follow` yields facts after a sequence without end, until its signal aborts; an event that cannot be read, or one
 * that is missing, is an error with the `sequence` of it.
 */
export type FactSource = Readonly<{
  follow: (
    stream: StreamName,
    after: number,
    options: { maxFacts?: number; signal: AbortSignal },
  ) => AsyncIterable<FactBatch>;
  head: (stream: StreamName) => Promise<SourceHead>;
  /** Fails with `UNAVAILABLE` while it is not certain that a stream has all that its archive knows of it. */
  complete?: (stream: StreamName) => Promise<void>;
}>;

/** The sequence that an error of the log is about, if it is about an event at all. */
export function sequenceOf(caught: unknown): number | undefined {
  if (typeof caught !== 'object' || caught === null || !('sequence' in caught)) return undefined;
  return typeof caught.sequence === 'number' ? caught.sequence : undefined;
}

/** Bytes of events that are held at most, beyond the batch that reaches it; decoded they take ten times as much. */
const maxBytes = 32 * 1024 * 1024;

/**
 * `maxFacts` bounds what is held, as 32 MiB of events do; `fill` waits for as much as long as there are more to come.
 */
type ReadAheadOptions = Readonly<{ maxFacts: number; fill?: boolean; signal: AbortSignal }>;

/**
 * Follows a stream and reads on while a batch is being worked on, so that the next one holds all that came meanwhile.
 *
 * An error of the log comes after everything that was read before it.
 */
export async function* readAhead(
  source: FactSource,
  from: Readonly<{ stream: StreamName; after: number }>,
  { maxFacts, fill = false, signal }: ReadAheadOptions,
): AsyncGenerator<FactBatch, void, undefined> {
  const left = new AbortController();
  const held: Held = { facts: [], bytes: 0, behind: 0, isOver: false, changed: Promise.withResolvers<void>() };
  const follow = source.follow(from.stream, from.after, { maxFacts, signal: AbortSignal.any([signal, left.signal]) });
  let failure: unknown;
  const reading = readInto(held, follow, { maxFacts, signal: left.signal })
    .catch((caught: unknown) => (failure = caught))
    .finally(() => finish(held));
  try {
    for (;;) {
      const isReady = !fill || held.isOver || held.behind === 0 || isFull(held, maxFacts);
      if (held.facts.length > 0 && isReady) {
        const { facts, bytes, behind } = held;
        held.facts = [];
        held.bytes = 0;
        change(held);
        yield { facts, bytes, behind };
      } else if (held.isOver) {
        break;
      } else {
        await held.changed.promise;
      }
    }
  } finally {
    left.abort();
    change(held);
    await reading;
  }
  if (failure !== undefined) throw failure;
}

/** Facts that were read and not yet consumed; `changed` resolves at the next change by either side. */
type Held = {
  facts: Recorded[];
  bytes: number;
  behind: number;
  isOver: boolean;
  changed: PromiseWithResolvers<void>;
};

function isFull({ facts, bytes }: Held, maxFacts: number): boolean {
  return facts.length >= maxFacts || bytes >= maxBytes;
}

type Limits = Readonly<{ maxFacts: number; signal: AbortSignal }>;

async function readInto(held: Held, batches: AsyncIterable<FactBatch>, { maxFacts, signal }: Limits): Promise<void> {
  for await (const { facts, bytes, behind } of batches) {
    for (const fact of facts) held.facts.push(fact);
    held.bytes += bytes;
    held.behind = behind;
    change(held);
    while (isFull(held, maxFacts) && !signal.aborted) await held.changed.promise;
    if (signal.aborted) return;
  }
}

function finish(held: Held): void {
  held.isOver = true;
  change(held);
}

function change(held: Held): void {
  held.changed.resolve();
  held.changed = Promise.withResolvers<void>();
}
