/** The messages that give something. */
export type GivingKind = 'putManifest' | 'putPiece';

/** How fast peers accept messages lately, from which follows when another peer is tried beside a slow one. */
export type PeerPace = Readonly<{
  record: (kind: GivingKind, tookMs: number) => void;
  /** The time after which a message is slow: twice the p90 of what peers took lately, and some moments at least. */
  patienceMs: (kind: GivingKind) => number;
}>;

const remembered = 50;
const fewest = 2;
const leastMs = 100;
/** While fewer are known. */
const usualMs = 500;

/** Nothing is known at first. */
export function createPeerPace(): PeerPace {
  const recent: Record<GivingKind, number[]> = { putManifest: [], putPiece: [] };
  return {
    record: (kind, tookMs) => {
      recent[kind].push(tookMs);
      if (recent[kind].length > remembered) recent[kind].shift();
    },
    patienceMs: (kind) => (recent[kind].length < fewest ? usualMs : Math.max(2 * p90Of(recent[kind]), leastMs)),
  };
}

function p90Of(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(0.9 * values.length) - 1] ?? 0;
}
