/** How often blocks are sealed, once the chain lives in the present. */
export type Cadence = Readonly<{
  /** Least milliseconds between two blocks. */
  leastMs: number;
  /** After so many milliseconds without a block an empty one is sealed; undefined: none is empty. */
  emptyMs: () => number | undefined;
  /** Calls with each time that `emptyMs` may have become less. */
  onChange: (receive: () => void) => void;
}>;

/** On demand alone, as soon as there is something. */
export const onDemand: Cadence = { leastMs: 0, emptyMs: () => undefined, onChange: () => undefined };

const apartMs = 1_000;
/** JSON-RPC that received a request within this time is assumed to be watched. */
const watchedMs = 60_000;
const unwatchedMs = 60_000;

/** Reports requests to the JSON-RPC. */
type Watched = Readonly<{ sinceMs: () => number; onAsked: (hear: () => void) => void }>;

/**
 * Blocks a second apart at least, so that no two have the same timestamp; empty ones each `blockTimeMs` while the
 * JSON-RPC receives requests, else one a minute. 0: on demand alone.
 */
export function cadenceOf(blockTimeMs: number, { sinceMs, onAsked }: Watched): Cadence {
  if (blockTimeMs === 0) return onDemand;
  return {
    leastMs: Math.min(apartMs, blockTimeMs),
    emptyMs: () => (sinceMs() < watchedMs ? blockTimeMs : unwatchedMs),
    onChange: onAsked,
  };
}
