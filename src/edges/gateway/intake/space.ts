import { readdir, stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import pLimit from 'p-limit';
import { bytesLeftFree } from '../../../kit/disk-room.ts';
import { AppError } from '../../../kit/errors.ts';
import type { Check } from '../../../kit/observed.ts';

/** Room of one file that grows; what of it is on the disk already is not counted twice. */
export type Reservation = Readonly<{
  /** Reserves more, so that the file may have so many bytes in all; fails with `INSUFFICIENT_STORAGE`. */
  extendTo: (bytes: number) => Promise<void>;
  release: () => void;
}>;

/** Room of the folder of transfers. */
export type Space = Readonly<{
  /** Fails with `INSUFFICIENT_STORAGE` where so many bytes have no room now; reserves nothing. */
  require: (bytes: number, use: Use) => Promise<void>;
  /** Reserves room for a file to have so many bytes; fails with `INSUFFICIENT_STORAGE`. */
  reserve: (file: string, bytes: number, use: Use) => Promise<Reservation>;
  /** The path of a reserved file while it is incomplete: of this process alone, whoever else fetches the same file. */
  partOf: (file: string) => string;
}>;

/** Downloads leave a part of the room to uploads. */
export type Use = 'upload' | 'download';

/** Bytes of one step. */
const stepBytes = 8 * 2 ** 20;

/** Of `mostBytes`, what downloads may fill. */
const downloadShare = 0.75;

type Claim = Readonly<{ file: string; use: Use }> & { bytes: number };
type Held = Readonly<{ all: number; fetched: number }>;

/**
 * Room of a folder: at most `mostBytes` in it, where that is set, and never the last tenth of the volume, or its last
 * 5 GiB where that is less.
 *
 * Downloads fill three quarters of `mostBytes` and stop twice as far before the volume's end: the rest is for uploads.
 * Several reservations of one file count as the largest of them.
 */
export function createSpace(folder: string, mostBytes: number | undefined, process = 'own'): Space {
  const partOf = (file: string): string => `${file}.${process}.part`;
  const claims = new Set<Claim>();
  // One after the other: a request that is refused in the end reserves nothing meanwhile.
  const oneAtATime = pLimit(1);
  const check = async (use: Use, more = 0): Promise<void> => {
    const coming = await comingBytes(claims, partOf);
    if (mostBytes !== undefined) {
      const held = await bytesIn(folder);
      if (coming.all + held.all + more > mostBytes) throw full('for files under way');
      if (use === 'download' && coming.fetched + held.fetched + more > mostBytes * downloadShare)
        throw full('for files that are fetched');
    }
    const { bavail, blocks, bsize } = await statfs(folder);
    const stored = bytesLeftFree(blocks * bsize);
    if (bavail * bsize - coming.all - more < stored * (use === 'download' ? 2 : 1)) throw full('on the disk');
  };
  return {
    partOf,
    require: async (bytes, use) => await oneAtATime(async () => await check(use, bytes)),
    reserve: async (file, bytes, use) => {
      const claim: Claim = { file, use, bytes: 0 };
      const extendTo = async (most: number): Promise<void> => {
        const before = claim.bytes;
        claim.bytes = Math.max(before, most);
        await check(use).catch((caught: unknown) => {
          claim.bytes = before;
          throw caught;
        });
      };
      await oneAtATime(async () => {
        claims.add(claim);
        await extendTo(bytes).catch((caught: unknown) => {
          claims.delete(claim);
          throw caught;
        });
      });
      return {
        extendTo: async (most) => await oneAtATime(async () => await extendTo(most)),
        release: () => void claims.delete(claim),
      };
    },
  };
}

/** Warns while uploads are refused for want of room: all else is answered as ever. */
export function roomCheck(space: Pick<Space, 'require'>): Check {
  const message = 'Uploads are refused: the folder of transfers (TRANSFER_SPACE) or its disk is full.';
  return {
    look: async () =>
      await space.require(1, 'upload').then(
        () => ({}),
        (caught: unknown) => {
          if (!(caught instanceof AppError)) throw caught;
          return { warnings: [{ component: 'transfers', message }] };
        },
      ),
  };
}

/** Reserves room in steps, ahead of bytes that come, up to as many as were declared: words alone hold none. */
export function inSteps({ extendTo }: Reservation, declared: number): (bytes: number) => Promise<void> {
  let most = 0;
  return async (bytes) => {
    if (bytes <= most) return;
    const next = Math.ceil(bytes / stepBytes) * stepBytes;
    most = bytes > declared ? next : Math.min(next, declared);
    await extendTo(most);
  };
}

/** What reserved files still lack. */
async function comingBytes(claims: ReadonlySet<Claim>, partOf: Space['partOf']): Promise<Held> {
  const largest = new Map<string, Claim>();
  for (const claim of claims) {
    const other = largest.get(claim.file);
    if (!other || other.bytes < claim.bytes) largest.set(claim.file, claim);
  }
  let [all, fetched] = [0, 0];
  for (const { file, bytes, use } of largest.values()) {
    const lacking = Math.max(0, bytes - Math.max(await sizeOf(file), await sizeOf(partOf(file))));
    all += lacking;
    if (use === 'download') fetched += lacking;
  }
  return { all, fetched };
}

/** Bytes of all files below a folder, and of those among them that were fetched. */
async function bytesIn(folder: string): Promise<Held> {
  let [all, fetched] = [0, 0];
  for (const name of await readdir(folder, { recursive: true })) {
    const size = await sizeOf(path.join(folder, name));
    all += size;
    if (name.startsWith('fetched')) fetched += size;
  }
  return { all, fetched };
}

async function sizeOf(file: string): Promise<number> {
  const info = await stat(file).catch(() => undefined);
  return info?.isFile() === true ? info.size : 0;
}

function full(where: string): AppError {
  return new AppError('INSUFFICIENT_STORAGE', `There is no room left ${where}; try again later`);
}
