import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { writeWhole } from '../../kit/durable.ts';
import { createFileWriter, type FileWriter } from '../intake/file-writer.ts';
import type { Received } from '../intake/receive.ts';
import type { FileHashes } from '../../cascade/file-hashes.ts';

/** What the first request of a resumable upload said. */
export type Asked = Readonly<{
  actionId: string;
  signature: string;
  fileName: string;
  /** Bytes of the whole file; null until a request tells. */
  length: number | null;
  /** The task that its bytes became. */
  task: string | null;
}>;

/** A resumable upload as it lies here; `offset` counts the bytes that came. */
export type PartialUpload = Asked & Readonly<{ id: string; offset: number }>;

/** Resumable uploads on the disk: for each a file of its bytes, beside what was asked for. */
export type PartialUploads = Readonly<{
  create: (asked: Asked) => Promise<PartialUpload>;
  /** Undefined for an id that nothing lies at, of whatever form. */
  find: (id: string) => Promise<PartialUpload | undefined>;
  /** Keeps what is known of it now. */
  describe: (upload: PartialUpload) => Promise<void>;
  /** Keeps only which task it became. */
  finish: (upload: PartialUpload) => Promise<void>;
  /** Path of what came of its bytes. */
  bytesOf: (id: string) => string;
  writer: (id: string, from: number) => Promise<FileWriter>;
  /** The whole file with its hashes. */
  received: (upload: PartialUpload) => Promise<Received>;
  remove: (id: string) => Promise<void>;
  /** Removes uploads of which no byte came for so long, and what is left of those that became tasks. */
  sweep: (ageMs: number) => Promise<void>;
}>;

const form = /^[0-9a-f]{32}$/;
const suffix = '.json';

/** Opens the folder of resumable uploads, making it where it is missing; unfinished descriptions lie in `incoming`. */
export async function openPartialUploads(
  folder: string,
  { incoming, hashesOf }: Readonly<{ incoming: string; hashesOf: FileHashes['of'] }>,
): Promise<PartialUploads> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const bytesOf = (id: string): string => path.join(folder, id);
  const askedOf = (id: string): string => path.join(folder, id + suffix);
  const describe = async ({ id, actionId, signature, fileName, length, task }: PartialUpload): Promise<void> => {
    const asked: Asked = { actionId, signature, fileName, length, task };
    await writeWhole(askedOf(id), Buffer.from(JSON.stringify(asked)), incoming);
  };
  return {
    bytesOf,
    create: async (asked) => {
      const id = randomBytes(16).toString('hex');
      // What a crash leaves of bytes alone is found by nobody, and goes with its age.
      await (await open(bytesOf(id), 'wx', 0o600)).close();
      const upload = { ...asked, id, offset: 0 };
      await describe(upload);
      return upload;
    },
    find: async (id) => {
      if (!form.test(id)) return undefined;
      const text = await readFile(askedOf(id), 'utf8').catch(absent);
      if (text === undefined) return undefined;
      const asked = JSON.parse(text) as Asked;
      const size = (await stat(bytesOf(id)).catch(absent))?.size;
      if (size === undefined && asked.task === null) return undefined;
      return { ...asked, id, offset: size ?? asked.length ?? 0 };
    },
    describe,
    finish: async (upload) => {
      await describe(upload);
      await rm(bytesOf(upload.id), { force: true });
    },
    writer: async (id, from) => createFileWriter(await open(bytesOf(id), 'r+'), from),
    received: async ({ id, fileName }) => {
      const [hashes, { size }] = await Promise.all([hashesOf(bytesOf(id)), stat(bytesOf(id))]);
      return { path: bytesOf(id), size, fileName, hashes };
    },
    remove: async (id) => {
      await rm(askedOf(id), { force: true });
      await rm(bytesOf(id), { force: true });
    },
    sweep: async (ageMs) => {
      const isOld = async (file: string): Promise<boolean> =>
        Date.now() - ((await stat(file).catch(absent))?.mtimeMs ?? 0) > ageMs;
      const ids = new Set((await readdir(folder)).map((name) => path.basename(name, suffix)));
      for (const id of ids)
        if ((await isOld(bytesOf(id))) && (await isOld(askedOf(id)))) {
          await rm(askedOf(id), { force: true });
          await rm(bytesOf(id), { force: true });
        }
    },
  };
}

function absent(caught: unknown): undefined {
  if (caught instanceof Error && 'code' in caught && caught.code === 'ENOENT') return undefined;
  throw caught;
}
