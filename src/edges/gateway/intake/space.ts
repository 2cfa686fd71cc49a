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
  /**
   * The same for bytes that an action's creator only promised, for as long as they take at 1 MiB a second, and a
   * minute. Nothing where another file of that action holds the room.
   */
  promise: (bytes: number, action: string) => Promise<void>;
  /** Gives the room back, after so long where that is passed. */
  release: (afterMs?: number) => void;
}>;

/** Room of the folder of transfers. */
export type Space = Readonly<{
  /** Fails with `INSUFFICIENT_STORAGE` where so many bytes have no room now; reserves nothing. */
  require: (bytes: number, use: Use) => Promise<void>;
  /** Reserves room for a file to have so many bytes; fails with `INSUFFICIENT_STORAGE`. */
  reserve: (file: string, bytes: number, use: Use) => Promise<Reservation>;
  /** Nothing is reserved for a file any more: it is complete, or given up. */
  settle: (file: string) => void;
  /** The path of a reserved file while it is incomplete: of this process alone, whoever else fetches the same file. */
  partOf: (file: string) => string;
}>;

/** Downloads leave a part of the room to uploads. */
export type Use = 'upload' | 'download';

/** Bytes of one step. */
const stepBytes = 8 * 2 ** 20;

/** Of `mostBytes`, what downloads may fill. */
const downloadShare = 0.75;

/** Bytes that are promised hold their room for so long, and for as long as they take at the rate. */
const [promiseMs, promiseRate] = [60_000, 2 ** 20];

type Claim = Readonly<{ file: string; use: Use }> & { bytes: number; promised: number; action?: string };
/** A claim, and the sizes that its file and the part of it have. */
type ReservedFile = Readonly<Claim & { sizes: readonly number[] }>;
type ReservedFiles = ReadonlyMap<string, ReservedFile>;
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
  const check = async (use: Use, more: number, claim?: Claim): Promise<void> => {
    const { bavail, blocks, bsize } = await statfs(folder);
    const reserved = await reservedFiles(claims, partOf);
    const coming = sumOf(reserved.values(), lackingOf);
    const needed = more + (claim ? lackingOf({ ...claim, sizes: reserved.get(claim.file)?.sizes ?? [] }) : 0);
    const fit = (room: number, where: string): void => requireRoom(needed, room, where);
    if (mostBytes !== undefined) {
      const held = await bytesIn(folder, reserved, partOf);
      fit(mostBytes - coming.all - held.all - more + needed, 'for files under way');
      const room = mostBytes * downloadShare - coming.fetched - held.fetched - more + needed;
      if (use === 'download') fit(room, 'for files that are fetched');
    }
    const kept = bytesLeftFree(blocks * bsize) * (use === 'download' ? 2 : 1);
    fit(bavail * bsize - kept - coming.all - more + needed, 'on the disk');
  };
  return {
    partOf,
    settle: (file) => claims.forEach((one) => one.file === file && claims.delete(one)),
    require: async (bytes, use) => await oneAtATime(async () => await check(use, bytes)),
    reserve: async (file, bytes, use) => {
      const claim: Claim = { file, use, bytes: 0, promised: 0 };
      const raise = async (what: 'bytes' | 'promised', most: number): Promise<void> => {
        const before = claim[what];
        claim[what] = Math.max(before, most);
        await check(use, 0, claim).catch((caught: unknown) => {
          claim[what] = before;
          throw caught;
        });
      };
      let lapse: NodeJS.Timeout | undefined;
      const promise = async (most: number, action: string): Promise<void> => {
        if ([...claims].some((other) => other.action === action && other.file !== file && other.promised > 0)) return;
        await raise('promised', most);
        claim.action = action;
        clearTimeout(lapse);
        lapse = setTimeout(() => (claim.promised = 0), promiseMs + (most / promiseRate) * 1000).unref();
      };
      await oneAtATime(async () => {
        claims.add(claim);
        await raise('bytes', bytes).catch((caught: unknown) => {
          claims.delete(claim);
          throw caught;
        });
      });
      return {
        extendTo: async (most) => await oneAtATime(async () => await raise('bytes', most)),
        promise: async (most, action) => await oneAtATime(async () => await promise(most, action)),
        release: (afterMs = 0) => {
          if (afterMs > 0) setTimeout(() => claims.delete(claim), afterMs).unref();
          else claims.delete(claim);
        },
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

/**
 * The largest claim of each file. A file that grows is measured once, and after its volume: what is written meanwhile
 * counts neither twice nor as both used and coming.
 */
async function reservedFiles(claims: ReadonlySet<Claim>, partOf: Space['partOf']): Promise<ReservedFiles> {
  const largest = new Map<string, Claim>();
  for (const claim of claims) {
    const other = largest.get(claim.file);
    if (!other || sizeIn(other) < sizeIn(claim)) largest.set(claim.file, claim);
  }
  const measured = [...largest].map(async ([file, claim]) => {
    const sizes = await Promise.all([sizeOf(file), sizeOf(partOf(file))]);
    return [file, { ...claim, sizes }] as const;
  });
  return new Map(await Promise.all(measured));
}

function sizeIn({ bytes, promised }: Claim): number {
  return Math.max(bytes, promised);
}

/** What a reserved file does not have yet. */
function lackingOf(file: ReservedFile): number {
  return Math.max(0, sizeIn(file) - Math.max(0, ...file.sizes));
}

function sumOf(files: Iterable<ReservedFile>, bytesOf: (file: ReservedFile) => number): Held {
  let [all, fetched] = [0, 0];
  for (const file of files) {
    const bytes = bytesOf(file);
    all += bytes;
    if (file.use === 'download') fetched += bytes;
  }
  return { all, fetched };
}

/** Bytes of all files below a folder, and of those among them that were fetched; reserved ones as measured. */
async function bytesIn(folder: string, reserved: ReservedFiles, partOf: Space['partOf']): Promise<Held> {
  const measured = new Set([...reserved.keys()].flatMap((file) => [file, partOf(file)]));
  let { all, fetched } = sumOf(reserved.values(), ({ sizes }) => sizes.reduce((a, b) => a + b, 0));
  for (const name of await readdir(folder, { recursive: true })) {
    const file = path.join(folder, name);
    const size = measured.has(file) ? 0 : await sizeOf(file);
    all += size;
    if (name.startsWith('fetched')) fetched += size;
  }
  return { all, fetched };
}

async function sizeOf(file: string): Promise<number> {
  const info = await stat(file).catch(() => undefined);
  return info?.isFile() === true ? info.size : 0;
}

function requireRoom(needed: number, room: number, where: string): void {
  if (needed <= room) return;
  const numbers = `${needed} bytes are needed, ${Math.max(0, Math.floor(room))} are free`;
  throw new AppError('INSUFFICIENT_STORAGE', `There is no room left ${where}: ${numbers}; try again later`);
}
