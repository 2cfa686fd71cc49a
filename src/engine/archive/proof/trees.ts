import type { StreamName } from '../../../events/streams.ts';
import type { RunQuery } from '../../models/pool.ts';
import { type Growth, type HashRun, type TreeEdge } from './growth.ts';
import { hashBytes, type LeafRange, rangeHash } from './merkle.ts';
import { bundleOf, leavesOf, readingTiles, type TileName, tileWidth } from './tiles.ts';

/** One tile of a stored tree; level 0 has entries there, every other one hashes of nodes. */
export type StoredTile = Readonly<{ level: number; index: number }>;

/** The stored trees of a network, one for each proven stream. */
export type Trees = Readonly<{
  /** The right edge of a tree with so many leaves; undefined where hashes of it are missing. */
  edge: (stream: StreamName, leaves: number) => Promise<TreeEdge | undefined>;
  /** The hashes that are stored of a tile, all those of a full one. */
  tile: (stream: StreamName, tile: StoredTile) => Promise<Uint8Array>;
  /** The hashes of several tiles of one level, one after the other. */
  tiles: (stream: StreamName, tiles: Readonly<{ level: number; from: number; until: number }>) => Promise<Uint8Array>;
  /** Adds to a tree what is archived already; false when another process leads the stream or has added it. */
  grow: (stream: StreamName, growth: Growth, expected: Readonly<{ epoch: number; leaves: number }>) => Promise<boolean>;
  /** Puts runs in place of what is stored there. */
  rewrite: (stream: StreamName, runs: readonly HashRun[]) => Promise<void>;
  /** Size and root of the checkpoint that was signed last. */
  signed: (stream: StreamName) => Promise<Readonly<{ size: number; root: Uint8Array }> | undefined>;
  /** Removes a tree. */
  clear: (stream: StreamName) => Promise<void>;
}>;

const highestLevel = 6;

/** Opens the trees of a network. */
export function createTrees(query: RunQuery, schema: string): Trees {
  const tiles: Trees['tiles'] = async (stream, { level, from, until }) => {
    const rows = await query<{ hashes: Uint8Array }>(
      `select hashes from ${schema}.log_tiles where stream = $1 and level = $2 and first >= $3 and first < $4
        order by first`,
      [stream, level, from * tileWidth, until * tileWidth],
    );
    return Buffer.concat(rows.map(({ hashes }) => hashes));
  };
  const tile: Trees['tile'] = (stream, { level, index }) => tiles(stream, { level, from: index, until: index + 1 });
  return {
    tile,
    tiles,
    edge: async (stream, leaves) => {
      const edge: { count: number; partial: Uint8Array }[] = [];
      for (let level = 0; level <= highestLevel; level += 1) {
        const count = Math.floor(leaves / tileWidth ** level);
        if (count === 0) break;
        const [index, width] = [Math.floor(count / tileWidth), count % tileWidth];
        const partial = width === 0 ? new Uint8Array() : await tile(stream, { level, index });
        if (partial.length !== width * hashBytes) return undefined;
        edge.push({ count, partial });
      }
      return edge;
    },
    grow: async (stream, growth, expected) => {
      const { runs, leaves } = runsOf(growth);
      const { joining, adding } = growing(schema, { from: 5, where: 'exists (select from grown)' });
      const rows = await query(
        `with grown as (update ${schema}.archive_heads set leaves = $2
            where stream = $1 and epoch = $3 and leaves = $4 returning 1),
          joined as (${joining}), added as (${adding}) select from grown`,
        [stream, leaves, expected.epoch, expected.leaves, ...runParameters(runs)],
      );
      return rows.length > 0;
    },
    rewrite: async (stream, runs) => {
      const { joining, adding } = growing(schema, { from: 2 });
      await query(`with joined as (${joining}) ${adding}`, [stream, ...runParameters(runs)]);
    },
    signed: async (stream) =>
      (
        await query<{ size: number; root: Uint8Array }>(
          `select size, root from ${schema}.log_checkpoints where stream = $1 order by signed_at desc, epoch desc limit 1`,
          [stream],
        )
      )[0],
    clear: async (stream) => {
      await query(`delete from ${schema}.log_tiles where stream = $1`, [stream]);
    },
  };
}

/** Hashes of ranges of a tree with `size` leaves; tiles are read once in the life of the reader. */
export function treeHashes(
  trees: Pick<Trees, 'tile'>,
  stream: StreamName,
  size: number,
): (range: LeafRange) => Promise<Uint8Array> {
  const read = new Map<string, Promise<Uint8Array>>();
  const once = (level: number, index: number): Promise<Uint8Array> => {
    const key = `${level}/${index}`;
    const hashes = read.get(key) ?? trees.tile(stream, { level, index });
    read.set(key, hashes);
    return hashes;
  };
  const reader = readingTiles(size, async (tile) => asServed(tile, await once(tile.level, tile.index)));
  return (range) => rangeHash(range, reader);
}

/** The hashes of a tile as verifiers read them, from what is stored of it; fails where that is less than its width. */
export function asServed({ level, index, width }: TileName, stored: Uint8Array): Uint8Array {
  const hashes = stored.subarray(0, width * hashBytes);
  if (hashes.length < width * hashBytes) throw new Error(`Hashes of tile ${index} of level ${level} are missing`);
  if (level === 'entries') return bundleOf(hashes);
  return level === 0 ? leavesOf(hashes) : hashes;
}

/**
 * The two statements that store runs, to be made together: their parameters are the stream, and from `from` on those of
 * `runParameters`.
 */
export function growing(
  schema: string,
  { from, where = 'true' }: Readonly<{ from: number; where?: string }>,
): Readonly<{ joining: string; adding: string }> {
  const runs = `unnest($${from}::int2[], $${from + 1}::int8[], $${from + 2}::bytea[]) as run (level, first, hashes)`;
  return {
    joining: `delete from ${schema}.log_tiles as old using ${runs} where old.stream = $1 and old.level = run.level
      and old.first > run.first and old.first < run.first + length(run.hashes) / ${hashBytes} and ${where}`,
    adding: `insert into ${schema}.log_tiles as had (stream, level, first, hashes)
      select $1, run.* from ${runs} where ${where}
      on conflict (stream, level, first) do update set hashes = excluded.hashes
        where length(had.hashes) <= length(excluded.hashes)`,
  };
}

/** The parameters of those statements after the stream. */
export function runParameters(runs: readonly HashRun[]): unknown[] {
  return [
    runs.map(({ level }) => level),
    runs.map(({ first }) => first),
    runs.map(({ hashes }) => Buffer.from(hashes)),
  ];
}

/** All runs of a growth, and how many leaves the tree has then. */
export function runsOf({ full, begun, edge }: Growth): Readonly<{ runs: readonly HashRun[]; leaves: number }> {
  return { runs: [...full, ...begun], leaves: edge[0]?.count ?? 0 };
}
