import { readFile, stat } from 'node:fs/promises';

/** Passes every failure on but that there is no such file. */
export function unlessMissing(caught: unknown): undefined {
  if (codeOf(caught) === 'ENOENT') return undefined;
  throw caught;
}

/** The result of a read: the bytes, that there are none, or that the disk does not return them. */
export type DiskRead = Buffer | 'missing' | 'unreadable';

/**
 * Failures that are of the file itself. Any other one, such as too many open files, proves nothing about it and is
 * thrown: good bytes never count as damaged because their reader is short of something.
 */
const ofTheFile = new Set(['EIO', 'EISDIR', 'ENODATA', 'EBADMSG', 'EUCLEAN', 'EILSEQ', 'ELOOP', 'ENXIO', 'ENOTDIR']);

/** Reads a file in full. */
export async function readDisk(file: string): Promise<DiskRead> {
  try {
    return await readFile(file);
  } catch (caught) {
    const code = codeOf(caught);
    if (code === 'ENOENT') return 'missing';
    if (code !== undefined && ofTheFile.has(code)) return 'unreadable';
    throw caught;
  }
}

/** When a file was last written and how large it is; undefined where there is none. */
export async function statOf(
  file: string,
): Promise<Readonly<{ size: number; mtimeMs: number; isFile: () => boolean }> | undefined> {
  return await stat(file).catch(unlessMissing);
}

/** The system's code of a failure. */
export function codeOf(caught: unknown): string | undefined {
  return caught instanceof Error && 'code' in caught && typeof caught.code === 'string' ? caught.code : undefined;
}
