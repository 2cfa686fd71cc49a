import { isSameManifest, type Manifest } from '../storage/manifest.ts';
import type { Storage } from '../storage/storage.ts';
import { judge } from './judge.ts';
import type { PieceReader } from './piece-reader.ts';
import { createSharedWork } from './shared-work.ts';

/** The file that is wanted: its hash is that of the chain. */
export type WantedFile = Readonly<{ actionId: string; dataHash: string; mostBytes: number }>;

/** The manifest whose pieces were read and are the file, if there is one; and the sources of the last one's pieces. */
export type CompleteFile = Readonly<{ manifest?: Manifest; keys: number; here: number; elsewhere: number }>;

/**
 * Reads all pieces of a file, from here and from other nodes.
 *
 * Whoever wants the same file at the same time shares one reading: a request costs a stranger a hundred bytes, and the
 * network all of the file.
 */
export type CompleteFiles = (wanted: WantedFile, signal: AbortSignal) => Promise<CompleteFile>;

/** What files are read from. */
export type FileSources = Readonly<{
  manifests: (actionId: string) => AsyncIterable<Manifest>;
  reader: PieceReader;
  storage: Storage;
}>;

/** Makes those of a node. */
export function createCompleteFiles({ manifests, reader, storage }: FileSources): CompleteFiles {
  const shared = createSharedWork<CompleteFile>();
  const read = async ({ actionId, dataHash, mostBytes }: WantedFile, signal: AbortSignal): Promise<CompleteFile> => {
    let last: CompleteFile = { keys: 0, here: 0, elsewhere: 0 };
    const own = await storage.manifest(actionId);
    for await (const manifest of manifests(actionId)) {
      signal.throwIfAborted();
      if (manifest.dataHash !== dataHash || manifest.size > mostBytes) continue;
      const { isTrue, here, elsewhere } = await judge(manifest, reader(actionId), signal);
      last = { keys: manifest.pieces.length, here, elsewhere };
      if (!isTrue) continue;
      if (own && !isSameManifest(own, manifest)) await storage.keep(manifest);
      return { ...last, manifest };
    }
    return last;
  };
  return async (wanted, signal) =>
    await shared(`${wanted.actionId} ${wanted.dataHash}`, signal, async (all) => await read(wanted, all));
}
