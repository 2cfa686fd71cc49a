import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import pg from 'pg';
import { toReadError } from '../../engine/models/database-error.ts';
import { metaSchema } from '../../engine/models/engine/generations.ts';
import { toAppError } from '../../kit/errors.ts';
import type { Logger } from '../../kit/logger.ts';
import { type Chain, storedHeights } from './chain.ts';
import type { ChainSnapshot } from './chain-stores.ts';

/** Where snapshots of a chain lie; they follow from its log, and may be lost. */
export type Snapshots = Readonly<{
  /** The newest one up to a height; undefined where there is none that can be read. */
  newest: (height: number) => Promise<ChainSnapshot | undefined>;
  /** Stores one, and drops those but the last two; safe to repeat. */
  put: (snapshot: ChainSnapshot) => Promise<void>;
}>;

/** Of the form of a snapshot: those of another one are as good as none. */
const edition = 1;
const waitMs = 30_000;
const [packed, unpacked] = [promisify(gzip), promisify(gunzip)];

type Row = Readonly<{ snapshot: Buffer; hash: Buffer }>;

/** Opens the snapshots in a network's database; each use has a connection of its own, for they are hours apart. */
export function openSnapshots(postgres: pg.ClientConfig, network: string): Snapshots {
  const table = `${metaSchema(network)}.ledger_snapshots`;
  const connected = async <T>(use: (client: pg.Client) => Promise<T>): Promise<T> => {
    const client = new pg.Client({ ...postgres, application_name: `annals ${network} chain`, query_timeout: waitMs });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return await use(client);
    } catch (caught) {
      throw toReadError(caught);
    } finally {
      await client.end().catch(() => undefined);
    }
  };
  return {
    newest: async (height) => {
      const rows = await connected(async (client) => {
        const text = `select snapshot, hash from ${table} where edition = $1 and height <= $2 order by height desc`;
        return (await client.query<Row>(text, [edition, height])).rows;
      });
      for (const { snapshot, hash } of rows)
        if (hashOf(snapshot).equals(hash))
          return JSON.parse((await unpacked(snapshot)).toString('utf8')) as ChainSnapshot;
      return undefined;
    },
    put: async (snapshot) => {
      const bytes = await packed(JSON.stringify(snapshot));
      await connected(async (client) => {
        await client.query(
          `insert into ${table} (height, edition, snapshot, hash) values ($1, $2, $3, $4)
           on conflict (height) do update
           set edition = excluded.edition, snapshot = excluded.snapshot, hash = excluded.hash`,
          [snapshot.height, edition, bytes, hashOf(bytes)],
        );
        await client.query(
          `delete from ${table} where height < (select min(height) from
             (select height from ${table} where height <= $1 order by height desc limit 2) kept)`,
          [snapshot.height],
        );
      });
    },
  };
}

/** The store of snapshots and the function that drops states, used at each attested state of a chain. */
type CheckpointOptions = Readonly<{
  snapshots?: Snapshots;
  forget?: (height: number) => Promise<unknown>;
  logger: Logger;
}>;

/**
 * Stores a snapshot at each attested state of a chain and drops the states that are too old by then, beside the work;
 * what fails is done by the next one.
 */
export function keepCheckpoints(
  chain: Pick<Chain, 'onCheckpoint'>,
  { snapshots, forget, logger }: CheckpointOptions,
): Readonly<{ done: () => Promise<void> }> {
  let working = Promise.resolve();
  const keep = async (snapshot: ChainSnapshot): Promise<void> => {
    const { height } = snapshot;
    try {
      await snapshots?.put(snapshot);
      const forgotten = height > storedHeights ? await forget?.(height - storedHeights) : undefined;
      logger.debug({ height, forgotten }, 'ledger stored a snapshot');
    } catch (caught) {
      logger.warn(
        { height, err: toAppError(caught) },
        'ledger could not store a snapshot; the next one is tried again',
      );
    }
  };
  if (snapshots ?? forget)
    chain.onCheckpoint = (snapshot) => {
      working = working.then(() => keep(snapshot));
    };
  return { done: () => working };
}

function hashOf(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}
