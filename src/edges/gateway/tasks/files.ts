import { mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import path from 'node:path';
import { randomUUID } from 'node:crypto';
import { createFileHashes, type FileHashes } from '../../chain/files/file-hashes.ts';
import { syncFolder } from '../../../kit/durable.ts';
import { createSpace, type Space } from '../intake/space.ts';
import { openPartialUploads, type PartialUploads } from './partial-uploads.ts';
import { type Liveness, openLiveness } from './liveness.ts';
import { ensureStoreId } from './store-id.ts';

/** The folder of transfers: it holds uploads until their task has ended, and fetched files until their time is over. */
export type TransferFiles = Readonly<{
  /** Names this folder in facts: gateways that share it can resume one another's uploads. */
  store: string;
  folder: string;
  /** Which of the processes that share it have ended. */
  liveness: Liveness;
  /** Its room, which uploads and downloads share. */
  space: Space;
  /** A path for incoming bytes that no other request uses. */
  incoming: () => string;
  uploadOf: (task: string) => string;
  fetchedOf: (name: string) => string;
  /** Both hashes of a file that a chain's data hash may be, computed in a thread. */
  hashesOf: FileHashes['of'];
  /** Uploads that come in several requests. */
  partials: PartialUploads;
  /** Makes the bytes that came in those of an upload, for good. */
  adopt: (incoming: string, task: string) => Promise<void>;
  forgetUpload: (task: string) => Promise<void>;
  /** When a fetched file came, in milliseconds since 1970; undefined where it is not here. */
  fetchedAt: (name: string) => Promise<number | undefined>;
  /** Counts the retention of a fetched file from a moment on, in milliseconds since 1970. */
  keepFetched: (name: string, at: number) => Promise<void>;
  /** Removes fetched files older than `keepMs`, and what came in and belongs to no task, older than `tempMs`. */
  sweep: (
    options: Readonly<{ keepMs: number; tempMs: number; isOpen: (task: string) => Promise<boolean> }>,
  ) => Promise<void>;
  close: () => Promise<void>;
}>;

/** Opens the folder of transfers, making what is missing; `mostBytes` bounds what lies in it. */
export async function openTransferFiles(folder: string, mostBytes?: number): Promise<TransferFiles> {
  const [incoming, uploads, fetched] = ['incoming', 'uploads', 'fetched'].map((name) => path.join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const one of [incoming, uploads, fetched]) await mkdir(one, { recursive: true, mode: 0o700 });
  const store = await ensureStoreId(folder);
  const liveness = await openLiveness(folder);
  const hashes = createFileHashes();
  const uploadOf = (task: string): string => path.join(uploads, task);
  const partials = await openPartialUploads(path.join(folder, 'partial'), { incoming, uploadOf, hashesOf: hashes.of });
  const older = async (below: string, ms: number): Promise<string[]> => {
    const names = await readdir(below);
    const aged = await Promise.all(names.map(async (name) => ({ name, at: await modifiedAt(path.join(below, name)) })));
    return aged.filter(({ at }) => at !== undefined && Date.now() - at > ms).map(({ name }) => name);
  };
  return {
    store,
    folder,
    liveness,
    space: createSpace(folder, mostBytes, liveness.id),
    incoming: () => path.join(incoming, randomUUID()),
    uploadOf,
    fetchedOf: (name) => path.join(fetched, name),
    partials,
    hashesOf: hashes.of,
    close: async () => void (await Promise.all([hashes.close(), liveness.close()])),
    adopt: async (file, task) => {
      if (file !== uploadOf(task)) await rename(file, uploadOf(task));
      await syncFolder(uploads);
    },
    forgetUpload: async (task) => await rm(path.join(uploads, task), { force: true }),
    fetchedAt: async (name) => await modifiedAt(path.join(fetched, name)),
    keepFetched: async (name, at) =>
      await utimes(path.join(fetched, name), at / 1000, at / 1000).catch(() => undefined),
    sweep: async ({ keepMs, tempMs, isOpen }) => {
      for (const name of await older(fetched, keepMs)) await rm(path.join(fetched, name), { force: true });
      for (const name of await older(incoming, tempMs)) await rm(path.join(incoming, name), { force: true });
      for (const name of await older(uploads, tempMs))
        if (!(await isOpen(name))) await rm(path.join(uploads, name), { force: true });
      await partials.sweep(tempMs);
    },
  };
}

async function modifiedAt(file: string): Promise<number | undefined> {
  return await stat(file).then(
    ({ mtimeMs }) => mtimeMs,
    () => undefined,
  );
}
