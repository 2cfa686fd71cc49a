import { storedDays, storedPerEntity, type StreamName, type StreamPolicy } from '../../events/streams.ts';
import type { RunQuery } from '../models/pool.ts';
import type { Link } from './chain.ts';

/** The hash of a dropped event on which the next retained one is chained: the chain starts anew there. */
export type Anchor = Readonly<{ sequence: number; hash: Uint8Array }>;

/**
 * Rows that are dropped together, and for each run of them the row before it and the last one of it, which becomes the
 * anchor.
 */
export type Pruning = Readonly<{ sequences: readonly number[]; anchors: readonly (Anchor & { after: number })[] }>;

/** The number of a subject's events beyond those that the stream keeps. */
type Surplus = ReadonlyMap<string, number>;

/** The archive's counterpart of a stream's retention. */
export type Retention = Readonly<{
  /** Anchors after a sequence, up to another, in their order. */
  anchors: (stream: StreamName, after: number, upTo: number) => Promise<Anchor[]>;
  setAnchor: (stream: StreamName, anchor: Anchor) => Promise<void>;
  /** Subjects of which more is archived than so many, and how much more. */
  surplus: (stream: StreamName, perEntity: number) => Promise<Surplus>;
  /** Drops rows, leaving anchors, or does nothing: false while a repair runs. */
  prune: (stream: StreamName, pruning: Pruning) => Promise<boolean>;
}>;

/** Opens what retention needs of a network's archive. */
export function createRetention(query: RunQuery, schema: string): Retention {
  return {
    anchors: (stream, after, upTo) =>
      query<Anchor>(
        `select sequence, hash from ${schema}.archive_anchors
          where stream = $1 and sequence > $2 and sequence <= $3 order by sequence`,
        [stream, after, upTo],
      ),
    setAnchor: async (stream, { sequence, hash }) => {
      await query(
        `insert into ${schema}.archive_anchors (stream, sequence, hash) values ($1, $2, $3)
          on conflict (stream, sequence) do update set hash = excluded.hash`,
        [stream, sequence, Buffer.from(hash)],
      );
    },
    surplus: async (stream, perEntity) => {
      const rows = await query<{ subject: string; surplus: number }>(
        `select subject, count(*) - $2::int8 as surplus from ${schema}.archive where stream = $1
          group by subject having count(*) > $2::int8`,
        [stream, perEntity],
      );
      return new Map(rows.map(({ subject, surplus }) => [subject, surplus]));
    },
    prune: async (stream, { sequences, anchors }) => {
      const [row] = await query<{ is_free: boolean }>(pruning(schema), [
        stream,
        sequences,
        anchors.map(({ after }) => after),
        anchors.map(({ sequence }) => sequence),
        anchors.map(({ hash }) => Buffer.from(hash)),
        schema,
      ]);
      return row?.is_free === true;
    },
  };
}

/** One statement, so that rows and anchors change together; a repair holds the same lock. */
const pruning = (schema: string): string =>
  `with free as materialized (select pg_try_advisory_xact_lock(hashtextextended($6, 3)) as is_free),
    gone as (delete from ${schema}.archive using free where is_free and stream = $1 and sequence = any ($2::int8[])),
    runs as (select * from unnest($3::int8[], $4::int8[], $5::bytea[]) as run (after, last, hash)),
    older as (delete from ${schema}.archive_anchors as anchor using free, runs
      where is_free and stream = $1 and anchor.sequence > runs.after and anchor.sequence < runs.last),
    newer as (insert into ${schema}.archive_anchors (stream, sequence, hash)
      select $1, last, runs.hash from runs, free where is_free on conflict do nothing)
  select is_free from free`;

const hourMs = 3_600_000;
/** The clocks of the broker and of the comparing process may differ. */
const clockSkewMs = hourMs;

/** Decides in one walk through an archive, in its order, which events its stream has dropped by policy. */
export type Drops = Readonly<{
  /** Returns whether a row, the next in order, is one that the stream drops. */
  isDropped: (row: Pick<Link, 'subject' | 'storedNanos'>) => boolean;
  /**
   * Of rows that seemed to be missing: those that the stream has dropped since, because more was archived meanwhile.
   */
  droppedSince: (rows: readonly Walked[]) => Promise<ReadonlySet<number>>;
  /** The rank of the last row among those of its subject. */
  place: () => number;
  /** So many rows of a subject are not in the archive any more. */
  pruned: (subjects: readonly string[]) => void;
}>;

/** A row of the walk: `place` is its rank among those of its subject, from 1. */
export type Walked = Readonly<{ sequence: number; subject: string; place: number }>;

const nothing: Drops = {
  isDropped: () => false,
  droppedSince: async () => new Set(),
  place: () => 0,
  pruned: () => undefined,
};

/** Prepares a walk; `now` in milliseconds since 1970. */
export async function dropsOf(
  { surplus }: Retention,
  stream: StreamName,
  { policy, now }: Readonly<{ policy: StreamPolicy; now: number }>,
): Promise<Drops> {
  const days = storedDays(policy);
  if (days !== undefined) {
    const before = BigInt(Math.floor(now - days * 24 * hourMs + clockSkewMs)) * 1_000_000n;
    return { ...nothing, isDropped: ({ storedNanos }) => BigInt(storedNanos) < before };
  }
  const perEntity = storedPerEntity(policy);
  if (perEntity === undefined) return nothing;
  const tooMany = await surplus(stream, perEntity);
  const positions = new Map<string, number>();
  const gone = new Map<string, number>();
  let position = 0;
  return {
    isDropped: ({ subject }) => {
      position = (positions.get(subject) ?? 0) + 1;
      positions.set(subject, position);
      return position <= (tooMany.get(subject) ?? 0);
    },
    place: () => position,
    pruned: (subjects) => {
      for (const subject of subjects) gone.set(subject, (gone.get(subject) ?? 0) + 1);
    },
    droppedSince: async (rows) => {
      if (rows.length === 0) return new Set();
      const since = await surplus(stream, perEntity);
      const isDropped = ({ subject, place: at }: Walked): boolean =>
        at - (gone.get(subject) ?? 0) <= (since.get(subject) ?? 0);
      return new Set(rows.filter(isDropped).map(({ sequence }) => sequence));
    },
  };
}

/** Rows of a chunk that the stream has dropped by its policy, with the subject of each. */
export type Dropped = Pruning & Readonly<{ subjects: readonly string[] }>;

/** Rows to be dropped, and the anchors that replace them: one for each run of them. */
export function createRuns(before: number) {
  let stored = before;
  let open: Anchor | undefined;
  const gone: Link[] = [];
  const anchors: (Anchor & { after: number })[] = [];
  const close = (): void => {
    if (open) anchors.push({ after: stored, sequence: open.sequence, hash: open.hash });
    open = undefined;
  };
  return {
    drop: (link: Link): void => {
      open = link;
      gone.push(link);
    },
    /** Skips an existing anchor; it replaces those before it. */
    pass: (anchor: Anchor): void => {
      if (open) open = anchor;
    },
    keep: (sequence: number): void => {
      close();
      stored = sequence;
    },
    lastKept: () => stored,
    all: (): Dropped => {
      close();
      return {
        sequences: gone.map(({ sequence }) => sequence),
        subjects: gone.map(({ subject }) => subject),
        anchors,
      };
    },
  };
}
