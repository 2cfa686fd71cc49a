import { randomBytes } from 'node:crypto';
import { mkdir, open as openFile, readdir, readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { writeAll } from '../../../kit/durable.ts';
import { createFileWriter, type FileWriter } from '../intake/file-writer.ts';
import type { Received } from '../intake/receive.ts';
import type { FileHashes } from '../../chain/files/file-hashes.ts';

/** The parameters of a resumable upload's first request. */
export type ResumableRequest = Readonly<{
  actionId: string;
  signature: string;
  fileName: string;
  /** Bytes of the complete file; null until a request declares them. */
  length: number | null;
  /** The task that its bytes became. */
  task: string | null;
  /** The id of the task that its bytes become, chosen before they are renamed; the log knows whether they did. */
  becomes?: string | null;
}>;

/** A resumable upload as it lies here; `offset` counts the bytes that came. */
export type PartialUpload = ResumableRequest & Readonly<{ id: string; offset: number }>;

/** One that has not become a task: how many bytes of it came, and when the last of them did, or it was opened. */
export type OpenUpload = Readonly<{ id: string; actionId: string; size: number; touchedMs: number }>;

/** Resumable uploads on the disk: for each a file of its bytes, beside its parameters. */
export type PartialUploads = Readonly<{
  create: (requested: ResumableRequest) => Promise<PartialUpload>;
  /** All that have not become tasks, the one that was touched last at the end. */
  open: () => Promise<readonly OpenUpload[]>;
  /** Undefined for an id that nothing lies at, of whatever form. */
  find: (id: string) => Promise<PartialUpload | undefined>;
  /** Writes its current description. */
  describe: (upload: PartialUpload) => Promise<void>;
  /** Writes its description, which names its task, and removes its bytes. */
  finish: (upload: PartialUpload) => Promise<void>;
  /** Path of the bytes so far. */
  bytesOf: (id: string) => string;
  /** Writes on where its bytes end. */
  writer: (upload: PartialUpload) => Promise<FileWriter>;
  /** The complete file with its hashes. */
  received: (upload: PartialUpload) => Promise<Received>;
  remove: (upload: PartialUpload) => Promise<void>;
  /** Removes uploads of which no byte came for so long, and what is left of those that became tasks. */
  sweep: (ageMs: number) => Promise<void>;
}>;

type Located = Readonly<{ file: string; size: number }>;

const form = /^[0-9a-f]{32}$/;
const suffix = '.json';

/** Opens the folder of resumable uploads, making it where it is missing; unfinished descriptions lie in `incoming`. */
export async function openPartialUploads(
  folder: string,
  {
    incoming,
    uploadOf,
    hashesOf,
  }: Readonly<{
    incoming: string;
    uploadOf: (task: string) => string;
    hashesOf: FileHashes['of'];
  }>,
): Promise<PartialUploads> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const { bytesOf, askedOf, locate, removeBytes } = positionsIn(folder, uploadOf);
  const describe = async (upload: PartialUpload): Promise<void> => {
    const { id, actionId, signature, fileName, length, task, becomes = null } = upload;
    const query: ResumableRequest = { actionId, signature, fileName, length, task, becomes };
    await writeAll(askedOf(id), Buffer.from(JSON.stringify(query)), incoming);
  };
  const open = openUploadsIn(folder, { bytesOf, askedOf });
  return {
    bytesOf,
    open,
    create: async (asked) => {
      const id = randomBytes(16).toString('hex');
      // After a crash here, bytes without a record remain: no request can reach them, and the sweep removes them by
      // age.
      await (await openFile(bytesOf(id), 'wx', 0o600)).close();
      const upload = { ...asked, id, offset: 0 };
      await describe(upload);
      return upload;
    },
    find: async (id) => {
      if (!form.test(id)) return undefined;
      const text = await readFile(askedOf(id), 'utf8').catch(absent);
      if (text === undefined) return undefined;
      const stored = JSON.parse(text) as ResumableRequest;
      if (stored.task !== null) return { ...stored, id, offset: stored.length ?? 0 };
      const located = await locate(id, stored.becomes);
      return located && { ...stored, id, offset: located.size };
    },
    describe,
    finish: async (upload) => {
      await describe(upload);
      await removeBytes(upload);
    },
    writer: async ({ id, becomes, offset }) =>
      createFileWriter(await openFile((await locate(id, becomes))?.file ?? bytesOf(id), 'r+'), offset),
    received: async ({ id, becomes, fileName }) => {
      const { file, size } = (await locate(id, becomes)) ?? { file: bytesOf(id), size: 0 };
      return { path: file, size, fileName, hashes: await hashesOf(file) };
    },
    remove: async (upload) => {
      await rm(askedOf(upload.id), { force: true });
      await removeBytes(upload);
    },
    sweep: async (ageMs) => await sweepOld(folder, ageMs),
  };
}

/** Where descriptions and bytes lie. */
function positionsIn(folder: string, uploadOf: (task: string) => string) {
  const bytesOf = (id: string): string => path.join(folder, id);
  const requestedOf = (id: string): string => path.join(folder, id + suffix);
  /** Path of its bytes: once they are renamed it is that of the task's upload, whatever the log's answer. */
  const locate = async (id: string, becomes: string | null = null): Promise<Located | undefined> => {
    for (const file of [bytesOf(id), ...(becomes === null ? [] : [uploadOf(becomes)])]) {
      const size = (await stat(file).catch(absent))?.size;
      if (size !== undefined) return { file, size };
    }
    return undefined;
  };
  const removeBytes = async ({ id, task, becomes = null }: PartialUpload): Promise<void> => {
    await rm(bytesOf(id), { force: true });
    if (becomes !== null && becomes !== task) await rm(uploadOf(becomes), { force: true });
  };
  return { bytesOf, askedOf: requestedOf, locate, removeBytes };
}

/** Reads what lies there each time, also of another process's; which action an upload is of is read once. */
function openUploadsIn(
  folder: string,
  { bytesOf, askedOf }: Readonly<Record<'bytesOf' | 'askedOf', (id: string) => string>>,
): PartialUploads['open'] {
  let actions = new Map<string, string>();
  const actionOf = async (id: string): Promise<string | undefined> => {
    const text = await readFile(askedOf(id), 'utf8').catch(absent);
    return text === undefined ? undefined : (JSON.parse(text) as ResumableRequest).actionId;
  };
  return async () => {
    const uploads: OpenUpload[] = [];
    for (const id of await readdir(folder)) {
      if (!form.test(id)) continue;
      const info = await stat(bytesOf(id)).catch(absent);
      const actionId = actions.get(id) ?? (await actionOf(id));
      if (info && actionId !== undefined) uploads.push({ id, actionId, size: info.size, touchedMs: info.mtimeMs });
    }
    actions = new Map(uploads.map(({ id, actionId }) => [id, actionId]));
    return uploads.toSorted((a, b) => a.touchedMs - b.touchedMs);
  };
}

async function sweepOld(folder: string, ageMs: number): Promise<void> {
  const isOld = async (file: string): Promise<boolean> =>
    Date.now() - ((await stat(file).catch(absent))?.mtimeMs ?? 0) > ageMs;
  const ids = new Set((await readdir(folder)).map((name) => path.basename(name, suffix)));
  for (const id of ids) {
    const files = [path.join(folder, id), path.join(folder, id + suffix)];
    if ((await Promise.all(files.map(isOld))).every(Boolean)) for (const file of files) await rm(file, { force: true });
  }
}

function absent(caught: unknown): undefined {
  if (caught instanceof Error && 'code' in caught && caught.code === 'ENOENT') return undefined;
  throw caught;
}
