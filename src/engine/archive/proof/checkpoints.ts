import type { KV } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/transport-node';
import type { StreamName } from '../../../events/streams.ts';
import type { RunQuery } from '../../models/pool.ts';
import { openBucket } from '../../log/bucket.ts';
import { refusedWith } from '../../log/breaks.ts';

/** What was signed of a tree: a life of its stream, and how often a tree of that life was begun. */
export type Signed = Readonly<{
  incarnation: string;
  epoch: number;
  origin: string;
  vkey: string;
  size: number;
  root: Uint8Array;
}>;

/** A tree as it is stored: which life of the stream it is of, and how many leaves it has. */
export type StoredTree = Readonly<{ stream: StreamName; incarnation: string; leaves: number }>;

/** A checkpoint as it is served. */
export type Checkpoint = Signed & Readonly<{ stream: StreamName; note: string; signedAt: string }>;

/** Checkpoints in the database. */
export type Checkpoints = Readonly<{
  trees: () => Promise<StoredTree[]>;
  /** The checkpoint that was signed last of each stream. */
  last: () => Promise<Checkpoint[]>;
  record: (stream: StreamName, signed: Signed, note: string) => Promise<void>;
  /** Notes why nothing is signed of a stream, or that nothing stands against it. */
  refuse: (stream: StreamName, reason: string | undefined) => Promise<void>;
  refusals: () => Promise<Readonly<{ stream: StreamName; reason: string }>[]>;
  seed: () => Promise<Uint8Array | undefined>;
  keepSeed: (seed: Uint8Array) => Promise<void>;
  replaceSeed: (seed: Uint8Array) => Promise<void>;
}>;

const keyName = 'log';

/** Opens the checkpoints of a network; bytes have to come as bytes. */
export function createCheckpoints(query: RunQuery, schema: string): Checkpoints {
  return {
    trees: () => query<StoredTree>(`select stream, incarnation, leaves from ${schema}.archive_heads`),
    last: () =>
      query<Checkpoint>(
        `select distinct on (stream) stream, incarnation, epoch, origin, vkey, size, root, note,
            to_char(signed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as "signedAt"
          from ${schema}.log_checkpoints order by stream, log_checkpoints.signed_at desc, epoch desc`,
      ),
    record: async (stream, { incarnation, epoch, origin, vkey, size, root }, note) => {
      await query(
        `insert into ${schema}.log_checkpoints as had (stream, origin, incarnation, epoch, vkey, size, root, note)
          values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (stream, origin) do update
            set size = excluded.size, root = excluded.root, note = excluded.note, signed_at = now()
            where excluded.size >= had.size`,
        [stream, origin, incarnation, epoch, vkey, size, Buffer.from(root), note],
      );
    },
    refuse: async (stream, reason) => {
      if (reason === undefined) await query(`delete from ${schema}.log_refusals where stream = $1`, [stream]);
      else
        await query(
          `insert into ${schema}.log_refusals (stream, reason) values ($1, $2)
            on conflict (stream) do update set reason = excluded.reason`,
          [stream, reason],
        );
    },
    refusals: () => query(`select stream, reason from ${schema}.log_refusals order by stream`),
    seed: async () =>
      (await query<{ seed: Uint8Array }>(`select seed from ${schema}.log_keys where name = $1`, [keyName]))[0]?.seed,
    keepSeed: async (seed) => {
      await query(`insert into ${schema}.log_keys (name, seed) values ($1, $2) on conflict do nothing`, [
        keyName,
        Buffer.from(seed),
      ]);
    },
    replaceSeed: async (seed) => {
      await query(
        `insert into ${schema}.log_keys (name, seed) values ($1, $2)
          on conflict (name) do update set seed = excluded.seed`,
        [keyName, Buffer.from(seed)],
      );
    },
  };
}

/** What is remembered of a stream's checkpoints outside the database; `revision` is 0 where nothing is. */
export type Remembered = Readonly<{ signed: Signed | undefined; revision: number }>;

/** Remembers beside the log what was signed, so that a database that went back signs nothing smaller. */
export type CheckpointMemory = Readonly<{
  read: (stream: StreamName) => Promise<Remembered>;
  /** False where another process remembered something since `revision` was read. */
  write: (stream: StreamName, signed: Signed, revision: number) => Promise<boolean>;
}>;

/** Opens the memory of a network; its bucket is made when it is first needed, and again where the broker lost it. */
export function createMemory(nc: NatsConnection, network: string): CheckpointMemory {
  let opened: Promise<KV> | undefined;
  const open = (): Promise<KV> => (opened ??= openBucket(nc, network, `annals-checkpoints_${network}`));
  const inBucket = async <T>(use: (bucket: KV) => Promise<T>): Promise<T> => {
    try {
      return await use(await open());
    } catch (caught) {
      opened = undefined;
      throw caught;
    }
  };
  return {
    read: (stream) =>
      inBucket(async (bucket) => {
        const entry = await bucket.get(stream);
        if (entry?.operation !== 'PUT') return { signed: undefined, revision: entry?.revision ?? 0 };
        return { signed: signedFrom(entry.json<Written>()), revision: entry.revision };
      }),
    write: (stream, signed, revision) =>
      inBucket(async (bucket) => {
        const text = JSON.stringify({ ...signed, root: Buffer.from(signed.root).toString('base64') });
        try {
          await bucket.put(stream, text, { previousSeq: revision });
          return true;
        } catch (caught) {
          if (refusedWith(caught, 'wrongLastSequence')) return false;
          throw caught;
        }
      }),
  };
}

type Written = Omit<Signed, 'root'> & Readonly<{ root: string }>;

const signedFrom = ({ root, ...others }: Written): Signed => ({ ...others, root: Buffer.from(root, 'base64') });
