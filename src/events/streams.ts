/**
 * The facts that a stream retains: all of them, the last so many of each entity, or those younger than so many days by
 * the broker's clock.
 *
 * An entity never loses its last fact where a number is retained; by days it does.
 */
export type Keeps = 'forever' | Readonly<{ perEntity: number }> | Readonly<{ days: number }>;

/**
 * How one stream is set up, archived and restored; this is the only source of these rules.
 *
 * - `kinds`: what its subjects are about, and whether outsiders may read a kind as `live.<kind>.<network>.<entity>`.
 *   JetStream republishes one pattern for each stream: of its kinds none, one, or all can be live.
 * - `archive`: `all` for ever, what the stream `keeps`, or `nothing`.
 * - `restore`: whether a damaged stream is restored from the archive by the program (with brakes), or when an operator
 *   requests it.
 * - `proven`: whether a Merkle tree is kept over the stream, and whether anybody may read it; only of what is archived.
 */
export type StreamPolicy = Readonly<{
  kinds: Readonly<Record<string, Readonly<{ live: boolean }>>>;
  keeps: Keeps;
  archive: 'all' | 'keeps' | 'nothing';
  restore: 'itself' | 'operator';
  proven: 'public' | 'private' | 'no';
}>;

/** The streams of the log, one per domain. A stream that exists may gain kinds; nothing else of it may change. */
export const streamTable = {
  ACTIONS: {
    kinds: { action: { live: true } },
    keeps: 'forever',
    archive: 'all',
    restore: 'itself',
    proven: 'public',
  },
  NODES: {
    kinds: { node: { live: true }, validator: { live: false } },
    keeps: 'forever',
    archive: 'all',
    restore: 'itself',
    proven: 'public',
  },
  // 30 days of one probe a minute
  PROBES: {
    kinds: { probe: { live: true } },
    keeps: { perEntity: 43_200 },
    archive: 'keeps',
    restore: 'itself',
    proven: 'public',
  },
  // One fact a node and day, which outlives the probes that it sums up.
  UPTIME: {
    kinds: { day: { live: true } },
    keeps: 'forever',
    archive: 'all',
    restore: 'itself',
    proven: 'public',
  },
  SYNC: {
    kinds: { sync: { live: false } },
    keeps: { perEntity: 10_000 },
    archive: 'keeps',
    restore: 'itself',
    proven: 'public',
  },
  // `request` holds file names and signatures, `retrieval` what is done with private files: neither is for outsiders.
  TRANSFERS: {
    kinds: { request: { live: false }, transfer: { live: true }, retrieval: { live: false } },
    keeps: { days: 97 },
    archive: 'keeps',
    restore: 'itself',
    // Its counts and times alone would report on private files.
    proven: 'private',
  },
  STORAGE: {
    kinds: { file: { live: true } },
    keeps: 'forever',
    archive: 'all',
    restore: 'itself',
    proven: 'public',
  },
  PEERS: {
    kinds: { peer: { live: true } },
    keeps: { perEntity: 1_000 },
    archive: 'keeps',
    restore: 'itself',
    proven: 'public',
  },
  // Where operators have events sent, and how far that is; addresses may hold passwords.
  HOOKS: {
    kinds: { hook: { live: false } },
    keeps: { perEntity: 1_000 },
    archive: 'keeps',
    restore: 'itself',
    proven: 'private',
  },
  POOL: {
    kinds: { submission: { live: false } },
    keeps: { days: 1 },
    archive: 'nothing',
    restore: 'itself',
    proven: 'no',
  },
  LEDGER: {
    kinds: { ledger: { live: false } },
    keeps: 'forever',
    archive: 'all',
    restore: 'itself',
    proven: 'public',
  },
  // What operators did is for operators.
  OPS: {
    kinds: { operation: { live: false } },
    keeps: 'forever',
    archive: 'all',
    restore: 'itself',
    proven: 'private',
  },
} as const satisfies Record<string, StreamPolicy>;

export type StreamName = keyof typeof streamTable;
/** The subject's kind: the second token of `evt.<kind>.<network>.<entity>`. */
export type Kind = { [Name in StreamName]: keyof (typeof streamTable)[Name]['kinds'] }[StreamName];

/** The policies by stream, as code that works with streams receives them. */
export type StreamPolicies = Readonly<Record<StreamName, StreamPolicy>>;

/** The names of all streams, in the order of the table. */
export const streams = Object.keys(streamTable).filter((name): name is StreamName => Object.hasOwn(streamTable, name));

const streamByKind: ReadonlyMap<string, StreamName> = new Map(
  streams.flatMap((stream) => Object.keys(streamTable[stream].kinds).map((kind) => [kind, stream])),
);

/** The stream that facts of a kind lie in. */
export function streamOfKind(kind: Kind): StreamName {
  const stream = streamByKind.get(kind);
  if (stream === undefined) throw new Error(`No stream holds facts of kind ${kind}`);
  return stream;
}

/** All subjects that a stream accepts: one pattern per kind. */
export function subjectsOf({ kinds }: Pick<StreamPolicy, 'kinds'>, network: string): string[] {
  return Object.keys(kinds).map((kind) => `evt.${kind}.${network}.*`);
}

/** Kinds of a stream that outsiders may read. */
export function liveKinds({ kinds }: Pick<StreamPolicy, 'kinds'>): string[] {
  return Object.keys(kinds).filter((kind) => kinds[kind]?.live);
}

/** Returns whether holes in a stream's sequences, and a first sequence above 1, are normal. */
export function forgets({ keeps }: Pick<StreamPolicy, 'keeps'>): boolean {
  return keeps !== 'forever';
}

/** Whether a Merkle tree is kept over a stream. */
export function isProven({ proven }: Pick<StreamPolicy, 'proven'>): boolean {
  return proven !== 'no';
}

/** How many facts of one entity a stream keeps; undefined where no number bounds them. */
export function storedPerEntity({ keeps }: Pick<StreamPolicy, 'keeps'>): number | undefined {
  return typeof keeps === 'object' && 'perEntity' in keeps ? keeps.perEntity : undefined;
}

/** How many days a stream keeps a fact; undefined where it keeps it longer. */
export function storedDays({ keeps }: Pick<StreamPolicy, 'keeps'>): number | undefined {
  return typeof keeps === 'object' && 'days' in keeps ? keeps.days : undefined;
}

/** Returns whether the archive holds anything of a stream. */
export function isArchived({ archive }: Pick<StreamPolicy, 'archive'>): boolean {
  return archive !== 'nothing';
}
