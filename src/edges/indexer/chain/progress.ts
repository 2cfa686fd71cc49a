import type { Source } from '../../../events/words.ts';

/** How far a long round has come. */
export type Progress = Readonly<{
  source: Source;
  /** First the transactions are searched by height, then the records are read. */
  phase: 'searching' | 'reading';
  /** Everything up to here has been searched. */
  height: number;
  head: number;
  /** Records read so far. */
  records: number;
}>;

/** Tells how far a round has come. */
export type Report = (progress: Progress) => void;

const quietMs = 2_000;
const betweenMs = 500;

/** A report that stays silent for the first 2 s and then passes on at most two a second. */
export function throttled(onProgress: Report): Report {
  let next = performance.now() + quietMs;
  return (progress) => {
    const at = performance.now();
    if (at < next) return;
    next = at + betweenMs;
    onProgress(progress);
  };
}
