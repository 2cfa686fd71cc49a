import type pg from 'pg';
import { AppError } from '../../commands/errors.ts';
import type { StreamName } from '../../events/catalogue.ts';
import type { Applier } from './apply.ts';
import { readAhead } from './read-ahead.ts';
import type { Head, Source } from './source.ts';

/** How far a rebuild has come: facts read of about how many, and how many a second so far. */
export type Progress = Readonly<{ done: number; total: number; perSecond: number }>;

/** Brings a generation that nobody reads yet up to the log, in big batches. */
export type Load = Readonly<{
  /** Until everything that a head stands for is applied. */
  upTo: (head: Head) => Promise<void>;
  /** Until so little is missing that others can wait for it. */
  nearlyToTheEnd: () => Promise<void>;
  /** Until a sequence is applied, in a transaction of the caller that others wait for, so not for long. */
  withinTransaction: (sequence: number, inTime: AbortSignal) => Promise<void>;
  /** Facts applied so far. */
  done: () => number;
}>;

/** What a load reads, and who hears of it. */
export type LoadOptions = Readonly<{
  source: Source;
  stream: StreamName;
  signal: AbortSignal;
  onProgress?: ((progress: Progress) => void) | undefined;
}>;

const maxFacts = 20_000;
const fewFacts = 2000;

/** Prepares the load of an applier's generation; `client` has no transaction open but where it says so. */
export function createLoad(client: pg.ClientBase, applier: Applier, options: LoadOptions): Load {
  const { source, stream, signal, onProgress } = options;
  const began = performance.now();
  let [done, total] = [0, 0];
  const report = (facts: number): void => {
    done += facts;
    onProgress?.({
      done,
      total: Math.max(done, total),
      perSecond: done / Math.max((performance.now() - began) / 1000, 0.001),
    });
  };
  const follow = async (isEnough: (behind: number) => boolean): Promise<void> => {
    const from = { stream, after: applier.position() };
    for await (const { facts, behind } of readAhead(source, from, { maxFacts, fill: true, signal })) {
      if (!(await applier.apply(client, facts))) throw replaced(stream);
      report(facts.length);
      if (signal.aborted) break;
      if (isEnough(behind)) return;
    }
    throw ended(signal);
  };
  return {
    upTo: async ({ firstSequence, lastSequence }) => {
      total = lastSequence - firstSequence + 1;
      if (total > 0 && applier.position() < lastSequence) await follow(() => applier.position() >= lastSequence);
    },
    nearlyToTheEnd: async () => {
      const { firstSequence, lastSequence } = await source.head(stream);
      const isEmpty = firstSequence > lastSequence;
      if (!isEmpty && applier.position() + fewFacts < lastSequence) await follow((behind) => behind < fewFacts);
    },
    withinTransaction: async (sequence, inTime) => {
      if (applier.position() >= sequence) return;
      const either = AbortSignal.any([signal, inTime]);
      const from = { stream, after: applier.position() };
      for await (const { facts } of readAhead(source, from, { maxFacts, signal: either })) {
        if (!(await applier.applyWithin(client, facts))) throw replaced(stream);
        report(facts.length);
        if (applier.position() >= sequence) return;
      }
      throw ended(either);
    },
    done: () => done,
  };
}

/** Nobody else writes an unfinished generation, so a refusal means that its row is gone, or changed by hand. */
export function replaced(stream: string): AppError {
  return new AppError(
    'UNAVAILABLE',
    `What was being built from ${stream} is no longer what it was begun from; it has to begin again`,
  );
}

function ended(signal: AbortSignal): AppError {
  return new AppError('UNAVAILABLE', 'The rebuild was ended before it was done; readers go on with what they have', {
    cause: signal.reason,
  });
}
