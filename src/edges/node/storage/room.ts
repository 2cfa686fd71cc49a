import { bytesLeftFree } from '../../../kit/disk-room.ts';
import { AppError } from '../../../kit/errors.ts';
import { readVolume, type Volume } from '../machine/volume.ts';

/** There is no room for more bytes: the bound is reached, or the disk nearly full. */
export class NoRoom extends AppError {
  constructor(why: string) {
    super('UNAVAILABLE', `This node takes no more bytes: ${why}`);
  }
}

const knownForMs = 1_000;
const ampleBytes = 2 ** 30;

/** The room of a store: bytes are reserved before they are written, and released when they are gone. */
export type Room = Readonly<{
  used: () => number;
  /** Fails with `NoRoom`, and reserves nothing, where there is no room for the bytes. */
  take: (bytes: number) => Promise<void>;
  /** Counts bytes that lie here already. */
  add: (bytes: number) => void;
  giveBack: (bytes: number) => void;
}>;

/**
 * Bounds a folder to so many bytes (-1: only by its disk) and leaves a part of the disk free: 10 % of it or 5 GiB,
 * whichever is less.
 */
export function createRoom(
  { folder, bound, used: start }: Readonly<{ folder: string; bound: number; used: number }>,
  volumeOf: (folder: string) => Promise<Pick<Volume, 'total' | 'available'>> = readVolume,
): Room {
  let used = start;
  let known = { spare: 0, untilMs: -Infinity };
  /** The disk is read again after a second, and each time where it is nearly full: a read waits behind writes. */
  const hasDisk = async (bytes: number): Promise<boolean> => {
    known.spare -= bytes;
    if (performance.now() < known.untilMs && known.spare >= ampleBytes) return true;
    const { total, available } = await volumeOf(folder);
    known = {
      spare: Number(available) - bytes - bytesLeftFree(Number(total)),
      untilMs: performance.now() + knownForMs,
    };
    return known.spare >= 0;
  };
  return {
    used: () => used,
    take: async (bytes) => {
      if (bound >= 0 && used + bytes > bound) throw new NoRoom(`its ${bound} bytes (STORAGE_SPACE) are used`);
      used += bytes;
      if (await hasDisk(bytes)) return;
      used -= bytes;
      throw new NoRoom('its disk is nearly full');
    },
    add: (bytes) => {
      used += bytes;
    },
    giveBack: (bytes) => {
      used -= bytes;
    },
  };
}
