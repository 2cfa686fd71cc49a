import type { AttemptPhase, Silences } from './attempt-watch.ts';

/** The pace of each direction: a node that is asked for a file is silent for other reasons than one that gets it. */
export type GatewayHedges = Readonly<{ uploads: Hedges; downloads: Hedges }>;

/** An attempt that succeeded. */
export type PacedAttempt = Readonly<{ bytes: number; silences: Silences; tookMs: number }>;

/**
 * The pace of a gateway's transfers, from which follows when an attempt with another node is started beside a slow one.
 */
export type Hedges = Readonly<{
  record: (attempt: PacedAttempt) => void;
  /**
   * The silence after which an attempt over so many bytes is slow: twice the p90 of the longest silences in its phase
   * lately, and at least a quarter of what a complete attempt takes; while fewer than three attempts are known, the
   * usual one, if there is any.
   */
  patienceMs: (phase: AttemptPhase, bytes: number) => number | undefined;
  /** Attempts of one task that may be made beside each other. */
  atOnce: number;
  /** Room for one more attempt beside another: returns what frees it, or undefined where there is none. */
  reserve: () => (() => void) | undefined;
}>;

const remembered = 50;
const fewest = 3;
const most = 8;

/** What holds without experience: silences after which an attempt is slow, and how many attempts a task may have. */
export type HedgeRules = Readonly<{ usualMs?: Partial<Record<AttemptPhase, number>>; atOnce?: number }>;

/**
 * A node that is silent before it has all of a file has done nothing with it, so another may be begun at little cost;
 * one that works with it may need its time.
 */
const uploadRules: HedgeRules = { usualMs: { dialling: 2_000, sending: 5_000 }, atOnce: 3 };
const downloadRules: HedgeRules = { usualMs: { dialling: 2_000, sending: 2_000 } };

/** Makes those of a gateway: each direction has a room of its own. */
export function createGatewayHedges(): GatewayHedges {
  return { uploads: createHedges(uploadRules), downloads: createHedges(downloadRules) };
}

/** No attempt is known at first; at most eight are beside another at once. */
export function createHedges({ usualMs = {}, atOnce = 2 }: HedgeRules = {}): Hedges {
  const recent: PacedAttempt[] = [];
  let reserved = 0;
  return {
    atOnce,
    record: (attempt) => {
      recent.push(attempt);
      if (recent.length > remembered) recent.shift();
    },
    patienceMs: (phase, bytes) => {
      if (recent.length < fewest) return usualMs[phase];
      // A node encodes and stores a larger file for longer; dialling and the pace of bytes do not depend on the size.
      const scale = (one: PacedAttempt): number => Math.max(1, bytes / Math.max(1, one.bytes));
      const silences = recent.map((one) => (one.silences.get(phase) ?? 0) * (phase === 'processing' ? scale(one) : 1));
      const times = recent.map((one) => one.tookMs * scale(one));
      return Math.max(2 * quantile(silences, 0.9), quantile(times, 0.5) / 4);
    },
    reserve: () => {
      if (reserved >= most) return undefined;
      reserved += 1;
      let isFree = false;
      return () => {
        if (!isFree) reserved -= 1;
        isFree = true;
      };
    },
  };
}

function quantile(values: readonly number[], part: number): number {
  const ordered = values.toSorted((a, b) => a - b);
  return ordered[Math.ceil(part * ordered.length) - 1] ?? 0;
}
