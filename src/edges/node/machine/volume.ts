import { realpath, stat, statfs } from 'node:fs/promises';
import path from 'node:path';

/** A filesystem: where it is mounted, and its bytes. */
export type Volume = Readonly<{ mount: string; total: bigint; used: bigint; available: bigint }>;

/** The filesystem that holds a folder; available is what an ordinary user gets of it. */
export async function readVolume(folder: string): Promise<Volume> {
  const { blocks, bfree, bavail, bsize } = await statfs(folder, { bigint: true });
  return {
    mount: await mountOf(await realpath(folder)),
    total: blocks * bsize,
    used: (blocks - bfree) * bsize,
    available: bavail * bsize,
  };
}

/** The highest folder above that lies on the same device. */
async function mountOf(folder: string): Promise<string> {
  const above = path.dirname(folder);
  if (above === folder) return folder;
  const [here, there] = await Promise.all([stat(folder), stat(above)]);
  return here.dev === there.dev ? await mountOf(above) : folder;
}
