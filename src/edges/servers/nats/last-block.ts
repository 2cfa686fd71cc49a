import { createHash, type Hash } from 'node:crypto';
import { type FileHandle, open, readdir } from 'node:fs/promises';
import path from 'node:path';

/** Looks whether the last block of a stream still holds on disk what it held at the look before, and says what is wrong. */
export type BlockLook = (created: string) => Promise<string | undefined>;

type Seen = Readonly<{ created: string; number: number; inode: number; length: number; sum: string }>;

const blockFile = /^(\d+)\.blk$/;
/** Bytes read at a time, into one place: a new one for every look would fill memory. */
const atOnce = 1 << 16;

/**
 * Watches the block file that a broker appends the events of a stream to; `folder` is the stream's, `created` tells one life of it from
 * another.
 *
 * What is appended stays in the broker's memory, so that it does not notice before its next start what becomes of it on disk; earlier
 * blocks it reads from disk, as every comparison does. A block is only ever appended to, or replaced by another file.
 */
export function watchLastBlock(folder: string): BlockLook {
  let seen: Seen | undefined;
  const buffer = Buffer.allocUnsafeSlow(atOnce);
  return async (created) => {
    const before = seen?.created === created ? seen : undefined;
    seen = undefined;
    const number = await lastBlock(folder);
    if (before && number < before.number) return `block ${before.number} is gone`;
    const handle = await open(path.join(folder, 'msgs', `${number}.blk`)).catch(() => undefined);
    if (!handle) return undefined;
    try {
      const { ino: inode, size } = await handle.stat();
      const isSame = before?.number === number && before.inode === inode;
      if (isSame && size < before.length) return `block ${number} was cut from ${before.length} to ${size}`;
      const hash = createHash('sha256');
      const earlier = isSame ? await sumOf(handle, { hash, buffer, from: 0, to: before.length }) : '';
      if (isSame && earlier !== before.sum) return `block ${number} is not what was written`;
      const sum = await sumOf(handle, { hash, buffer, from: isSame ? before.length : 0, to: size });
      seen = { created, number, inode, length: size, sum };
      return undefined;
    } finally {
      await handle.close();
    }
  };
}

/** 0 where there is none. */
async function lastBlock(folder: string): Promise<number> {
  const names = await readdir(path.join(folder, 'msgs')).catch(() => []);
  return Math.max(0, ...names.map((name) => Number(blockFile.exec(name)?.[1] ?? 0)));
}

async function sumOf(
  handle: FileHandle,
  { hash, buffer, from, to }: Readonly<{ hash: Hash; buffer: Buffer; from: number; to: number }>,
): Promise<string> {
  for (let at = from; at < to;) {
    const { bytesRead } = await handle.read(buffer, 0, Math.min(buffer.length, to - at), at);
    if (bytesRead === 0) break;
    hash.update(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
  return hash.copy().digest('hex');
}
