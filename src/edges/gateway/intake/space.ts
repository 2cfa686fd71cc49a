import { readdir, stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import { AppError } from '../../../commands/errors.ts';

/** Room of the folder of transfers. */
export type Space = Readonly<{
  /** Sets bytes aside for what comes, until the returned function is called; fails with `INSUFFICIENT_STORAGE`. */
  reserve: (bytes: number) => Promise<() => void>;
}>;

const leastShare = 0.1;
const leastBytes = 5 * 2 ** 30;

/**
 * Room of a folder: at most `mostBytes` in it, where that is given, and never the last tenth of the volume, or its last
 * 5 GiB where that is less.
 */
export function createSpace(folder: string, mostBytes: number | undefined): Space {
  const reserved = new Map<symbol, number>();
  return {
    reserve: async (bytes) => {
      const asked = Symbol('reserved');
      reserved.set(asked, bytes);
      const release = (): void => void reserved.delete(asked);
      const coming = [...reserved.values()].reduce((sum, one) => sum + one, 0);
      try {
        if (mostBytes !== undefined && coming + (await bytesIn(folder)) > mostBytes) throw full('for files under way');
        const { bavail, blocks, bsize } = await statfs(folder);
        if (bavail * bsize - coming < Math.min(blocks * bsize * leastShare, leastBytes)) throw full('on the disk');
      } catch (caught) {
        release();
        throw caught;
      }
      return release;
    },
  };
}

/** Bytes of all files below a folder but of those that come in: room is set aside for them. */
async function bytesIn(folder: string): Promise<number> {
  const files = (await readdir(folder, { recursive: true })).filter((name) => !name.startsWith('incoming'));
  const sizes = await Promise.all(
    files.map(async (name) => {
      const found = await stat(path.join(folder, name)).catch(() => undefined);
      return found?.isFile() === true ? found.size : 0;
    }),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

function full(where: string): AppError {
  return new AppError('INSUFFICIENT_STORAGE', `There is no room left ${where}; try again later`);
}
