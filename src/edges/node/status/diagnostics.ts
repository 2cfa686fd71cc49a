/** Calls between nodes that are counted, by the real network's names. */
const handlers = [
  'Ping',
  'StoreData',
  'FindNode',
  'BatchFindNode',
  'FindValue',
  'BatchFindValues',
  'BatchGetValues',
  'BatchStoreData',
  'Replicate',
] as const;
/** A call that a peer makes. */
export type PeerCall = (typeof handlers)[number];
/** The outcome of a call: the peer did or had what was requested, or it did not, or it took too long. */
export type CallOutcome = 'success' | 'failure' | 'timeout';

/** The counters of connections between nodes, by the real network's names. */
const poolKeys = [
  'adds_total',
  'capacity',
  'evictions_lru_total',
  'misses_total',
  'open_current',
  'pruned_idle_total',
  'replacements_total',
  'reuse_hits_total',
] as const;
/** The name of a counter of connections. */
export type PoolKey = (typeof poolKeys)[number];

const hotPathKeys = ['bannedSkips', 'banIncrements'] as const;

/** How the copies of files went to other nodes in one pass, of a Register or of a repair. */
export type StorePass = Readonly<{
  /** Unix seconds. */
  timeUnix: bigint;
  /** Questions sent to other nodes, and how many of them were done. */
  requests: number;
  successful: number;
  /** A percentage. */
  successRate: number;
}>;

/** How the pieces of one file were gathered for a Download. */
export type Retrieval = Readonly<{
  /** Unix seconds. */
  timeUnix: bigint;
  keys: number;
  required: number;
  foundLocal: number;
  foundNetwork: number;
  durationMs: bigint;
}>;

/** As many as real nodes show. */
const remembered = 48;

/** The latest of what happens again and again, newest first. */
export type Recent<T> = Readonly<{ add: (one: T) => void; latest: () => T[] }>;

function createRecent<T>(): Recent<T> {
  const latest: T[] = [];
  return {
    add: (one) => {
      latest.unshift(one);
      latest.length = Math.min(latest.length, remembered);
    },
    latest: () => [...latest],
  };
}

/** Numbers that only grow, by name; those that nothing counts are 0. */
export type PeerCounters<Key extends string> = Readonly<{
  add: (key: Key, by?: number) => void;
  all: () => Readonly<Record<Key, bigint>>;
}>;

function createCounters<Key extends string>(keys: readonly Key[]): PeerCounters<Key> {
  const counts = new Map<Key, bigint>(keys.map((key) => [key, 0n]));
  return {
    add: (key, by = 1) => void counts.set(key, (counts.get(key) ?? 0n) + BigInt(by)),
    all: () => Object.fromEntries(counts) as Record<Key, bigint>,
  };
}

type HandlerCounts = Readonly<{ total: bigint } & Record<CallOutcome, bigint>>;

/** A node's counters of its traffic with other nodes, from its start on; its status shows them. */
export type Diagnostics = Readonly<{
  stores: Recent<StorePass>;
  retrievals: Recent<Retrieval>;
  /** Of storing and retrieving files: banned candidates that were skipped, and misbehaviour counted. */
  hotPath: PeerCounters<(typeof hotPathKeys)[number]>;
  pool: PeerCounters<PoolKey>;
  /** A call of a peer was answered, or was not. */
  handled: (handler: PeerCall, outcome: CallOutcome) => void;
  handlers: () => Readonly<Record<PeerCall, HandlerCounts>>;
}>;

/** Counts from 0. */
export function createDiagnostics(): Diagnostics {
  const counts = handlers.map(
    (name) => [name, createCounters(['total', 'success', 'failure', 'timeout'] as const)] as const,
  );
  const byName = new Map(counts);
  return {
    stores: createRecent(),
    retrievals: createRecent(),
    hotPath: createCounters(hotPathKeys),
    pool: createCounters(poolKeys),
    handled: (handler, outcome) => {
      byName.get(handler)?.add('total');
      byName.get(handler)?.add(outcome);
    },
    handlers: () =>
      Object.fromEntries(counts.map(([name, counter]) => [name, counter.all()])) as Record<PeerCall, HandlerCounts>,
  };
}
