import type pg from 'pg';
import { AppError } from '../../../kit/errors.ts';
import type { Recorded } from '../../../commands/ports.ts';
import { forgets, type StreamName, streamTable } from '../../../events/streams.ts';
import type { Applier } from '../engine/apply.ts';
import { replaced } from '../engine/generations.ts';
import { type FactBatch, type SourceHead, readAhead, type FactSource } from '../engine/source.ts';

/** Brings a filled generation without readers up to the log, in big batches. */
export type Load = Readonly<{
  /** Until so little is missing that others can wait for it. */
  nearlyToTheEnd: () => Promise<void>;
  /** Until a sequence is applied, in a transaction of the caller that others wait for, so not for long. */
  withinTransaction: (sequence: number, inTime: AbortSignal) => Promise<void>;
}>;

/** The stream of a load, and the callback that counts it. */
type LoadOptions = Readonly<{ source: FactSource; stream: StreamName; signal: AbortSignal; count: CountFacts }>;

const maxFacts = 20_000;
/** Few enough that other work of the process continues meanwhile. */
const maxFactsInMemory = 4000;
const fewFacts = 2000;
/** Longer than a broker takes to come back. */
const usualSilenceMs = 20_000;

/** Prepares the load of an applier's generation; `client` has a transaction open only where a method says so. */
export function createLoad(client: pg.ClientBase, applier: Applier, options: LoadOptions): Load {
  const { source, stream, signal, count } = options;
  return {
    nearlyToTheEnd: async () => {
      const head = await source.head(stream);
      if (isEmpty(stream, head) || applier.position() + fewFacts >= head.lastSequence) return;
      const from = { stream, after: applier.position() };
      for await (const { facts, behind } of readOn(source, from, { maxFacts, fill: true, signal })) {
        if (!(await applier.apply(client, facts))) throw replaced(stream);
        count(facts.length);
        if (signal.aborted) break;
        if (behind < fewFacts) return;
      }
      throw ended(signal);
    },
    withinTransaction: async (sequence, inTime) => {
      if (applier.position() >= sequence) return;
      const either = AbortSignal.any([signal, inTime]);
      const from = { stream, after: applier.position() };
      for await (const { facts } of readAhead(source, from, { maxFacts, signal: either })) {
        if (!(await applier.applyWithin(client, facts))) throw replaced(stream);
        count(facts.length);
        if (applier.position() >= sequence) return;
      }
      throw ended(either);
    },
  };
}

/** Which facts to read: those of a stream from the first on, up to `head` and to the end of that batch. */
export type LoadRange = LoadOptions & Readonly<{ head: SourceHead; longestSilenceMs?: number | undefined }>;

/**
 * Hands over facts batch by batch, and returns the sequence of the last one, 0 when there is none. Fails where none
 * comes for `longestSilenceMs` before `head` is reached, and where the stream has lost all that it keeps.
 */
export async function readUpTo(
  { source, stream, head, count, signal, longestSilenceMs }: LoadRange,
  take: (facts: readonly Recorded[]) => Promise<void>,
): Promise<number> {
  const { lastSequence } = head;
  if (isEmpty(stream, head)) return 0;
  const options = { maxFacts: maxFactsInMemory, signal, longestSilenceMs };
  for await (const { facts } of readOn(source, { stream, after: 0 }, options)) {
    await take(facts);
    count(facts.length);
    const position = facts.at(-1)?.sequence ?? 0;
    if (position >= lastSequence) return position;
    if (signal.aborted) break;
  }
  throw ended(signal);
}

/** Fails where a stream that keeps everything counts events and holds none: to read it as empty would be wrong. */
function isEmpty(stream: StreamName, { firstSequence, lastSequence }: SourceHead): boolean {
  if (lastSequence === 0) return true;
  if (firstSequence <= lastSequence) return false;
  if (forgets(streamTable[stream])) return true;
  throw new AppError('UNAVAILABLE', `${stream} has lost its events up to ${lastSequence}; annals scrub says more`);
}

type ReadOnOptions = Parameters<typeof readAhead>[2] & Readonly<{ longestSilenceMs?: number | undefined }>;

/**
 * Reads a stream that has more facts, and fails where none comes for long: its last events may be gone, which only a
 * comparison with the archive can prove.
 */
async function* readOn(
  source: FactSource,
  from: Readonly<{ stream: StreamName; after: number }>,
  { signal, longestSilenceMs = usualSilenceMs, ...options }: ReadOnOptions,
): AsyncGenerator<FactBatch, void, undefined> {
  const idle = new AbortController();
  let position = from.after;
  const watch = (): NodeJS.Timeout => setTimeout(() => idle.abort(), longestSilenceMs);
  let timer = watch();
  try {
    for await (const batch of readAhead(source, from, { ...options, signal: AbortSignal.any([signal, idle.signal]) })) {
      clearTimeout(timer);
      position = batch.facts.at(-1)?.sequence ?? position;
      yield batch;
      timer = watch();
    }
  } finally {
    clearTimeout(timer);
  }
  if (idle.signal.aborted)
    throw new AppError(
      'UNAVAILABLE',
      `${from.stream} gives nothing after ${position}; annals scrub says what it lacks`,
    );
}

function ended(signal: AbortSignal): AppError {
  return new AppError('UNAVAILABLE', 'The rebuild was ended before it was done; readers go on with what they have', {
    cause: signal.reason,
  });
}

/** How far a rebuild has come: facts read of about how many, and how many a second so far. */
export type RebuildProgress = Readonly<{ done: number; total: number; perSecond: number }>;

/** Counts processed facts; returns how many there were so far. */
export type CountFacts = (facts: number) => number;

/** Makes a counter that reports after each step how far it is of about `total`. */
export function createCount(total: number, report: ((progress: RebuildProgress) => void) | undefined): CountFacts {
  const startedAt = performance.now();
  let done = 0;
  return (facts) => {
    done += facts;
    const seconds = Math.max((performance.now() - startedAt) / 1000, 0.001);
    if (facts > 0) report?.({ done, total: Math.max(done, total), perSecond: done / seconds });
    return done;
  };
}
