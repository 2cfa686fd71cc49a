import { isProven, type StreamName, streams, streamTable, type StreamPolicies } from '../../../events/streams.ts';
import { metaSchema } from '../../models/engine/generations.ts';
import { type RunQuery, archiveTypes, type Pools, withClient } from '../../models/pool.ts';
import { isSame } from '../chain.ts';
import { type Checkpoint, createCheckpoints } from './checkpoints.ts';
import { hashBytes, inclusionRanges, sha256 } from './merkle.ts';
import { proofText } from './notes.ts';
import { type TileName, tileWidth, widthIn } from './tiles.ts';
import { asServed, createTrees, treeHashes, type Trees } from './trees.ts';

/** A proven event: its bytes, undefined where they are not kept any more, and its entry. */
export type ProvenEvent = Readonly<{ bytes: Uint8Array | undefined; entry: Uint8Array }>;

/** The proven logs of a network, as far as checkpoints of them are signed. */
export type ProvenLogs = Readonly<{
  /** Their checkpoints, and the first sequence that is kept of each. */
  list: () => Promise<readonly (Checkpoint & Readonly<{ firstKept: number | null }>)[]>;
  /** The checkpoint that was signed last; undefined before the first. */
  checkpoint: (stream: StreamName) => Promise<Checkpoint | undefined>;
  /** A tile of the tree of that checkpoint as it is served; undefined where the tree has none such. */
  tile: (stream: StreamName, tile: TileName) => Promise<Uint8Array | undefined>;
  /** An event of that tree; undefined where the tree does not reach it. */
  event: (stream: StreamName, sequence: number) => Promise<ProvenEvent | undefined>;
  /** A text of C2SP tlog-proof that the tree has an event; undefined where it does not reach it. */
  proof: (stream: StreamName, sequence: number) => Promise<string | undefined>;
}>;

/** The logs that anybody may read, by name. */
export const publicLogs: readonly StreamName[] = streams.filter((stream) => streamTable[stream].proven === 'public');

/** Reads the proven logs of a network from its archive; `policies` name those that there are. */
export function createProvenLogs({
  pools,
  network,
  policies = streamTable,
}: Readonly<{ pools: Pools; network: string; policies?: StreamPolicies }>): ProvenLogs {
  const schema = metaSchema(network);
  const query: RunQuery = async (text, values = []) =>
    withClient(pools.read, async (client) => (await client.query({ text, values, types: archiveTypes() })).rows);
  const checkpoints = createCheckpoints(query, schema);
  const last = async (): Promise<Checkpoint[]> =>
    (await checkpoints.last()).filter(({ stream }) => policies[stream] && isProven(policies[stream]));
  const checkpoint: ProvenLogs['checkpoint'] = async (stream) => (await last()).find((one) => one.stream === stream);
  const trees = createTrees(query, schema);
  return {
    checkpoint,
    list: async () => {
      const [all, firstStored] = await Promise.all([last(), firstStoredIn(query, schema)]);
      return all.map((one) => ({ ...one, firstKept: firstStored.get(one.stream) ?? null }));
    },
    tile: tilesOf(trees, checkpoint),
    event: eventsOf({ query, schema, trees, checkpoint }),
    proof: async (stream, sequence) => {
      const head = await checkpoint(stream);
      if (!head || sequence < 1 || sequence > head.size) return undefined;
      const hashOf = treeHashes(trees, stream, head.size);
      const hashes = await Promise.all(inclusionRanges(sequence - 1, head.size).map(hashOf));
      return proofText(sequence - 1, hashes, head.note);
    },
  };
}

/** The first sequence that the archive holds of each stream. */
async function firstStoredIn(query: RunQuery, schema: string): Promise<ReadonlyMap<StreamName, number | null>> {
  const rows = await query<{ stream: StreamName; firstKept: number | null }>(
    `select stream, (select sequence from ${schema}.archive as event where event.stream = head.stream
        order by sequence limit 1) as "firstKept" from ${schema}.archive_heads as head`,
  );
  return new Map(rows.map(({ stream, firstKept }) => [stream, firstKept]));
}

/** Reads tiles; the size of a tree only grows, so a tile that one of some size has is there for ever. */
function tilesOf(trees: Trees, checkpoint: ProvenLogs['checkpoint']): ProvenLogs['tile'] {
  const sizes = new Map<StreamName, number>();
  return async (stream, tile) => {
    const isThere = (): boolean => tile.width <= widthIn(sizes.get(stream) ?? 0, tile);
    if (!isThere()) sizes.set(stream, (await checkpoint(stream))?.size ?? 0);
    if (!isThere()) return undefined;
    const level = tile.level === 'entries' ? 0 : tile.level;
    return asServed(tile, await trees.tile(stream, { level, index: tile.index }));
  };
}

type Events = Readonly<{ query: RunQuery; schema: string; trees: Trees; checkpoint: ProvenLogs['checkpoint'] }>;

/** Reads events; bytes that are not those of the tree are as good as none. */
function eventsOf({ query, schema, trees, checkpoint }: Events): ProvenLogs['event'] {
  const entryAt = async (stream: StreamName, index: number): Promise<Uint8Array> => {
    const stored = await trees.tile(stream, { level: 0, index: Math.floor(index / tileWidth) });
    const at = (index % tileWidth) * hashBytes;
    return stored.subarray(at, at + hashBytes);
  };
  const text = `select body from ${schema}.archive where stream = $1 and sequence = $2`;
  return async (stream, sequence) => {
    const size = (await checkpoint(stream))?.size ?? 0;
    if (sequence < 1 || sequence > size) return undefined;
    const [entry, [row]] = await Promise.all([
      entryAt(stream, sequence - 1),
      query<{ body: Uint8Array }>(text, [stream, sequence]),
    ]);
    const isIntact = row !== undefined && isSame(sha256(row.body), entry);
    return { bytes: isIntact ? row.body : undefined, entry };
  };
}
