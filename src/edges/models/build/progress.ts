/** How far a rebuild has come: facts read of about how many, and how many a second so far. */
export type Progress = Readonly<{ done: number; total: number; perSecond: number }>;

/** Counts facts that were taken; gives back how many there were so far. */
export type Count = (facts: number) => number;

/** Makes a counter that tells after each step how far it is of about `total`. */
export function createCount(total: number, tell: ((progress: Progress) => void) | undefined): Count {
  const began = performance.now();
  let done = 0;
  return (facts) => {
    done += facts;
    const seconds = Math.max((performance.now() - began) / 1000, 0.001);
    if (facts > 0) tell?.({ done, total: Math.max(done, total), perSecond: done / seconds });
    return done;
  };
}
