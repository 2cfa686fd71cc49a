import { wait } from '../../../kit/wait.ts';
import { NoRoom, type Room } from './room.ts';

/** Room of files that are being received. */
export type DraftRoom = Readonly<{ open: () => DraftShare }>;

/** Room of one of them. */
export type DraftShare = Readonly<{
  /** Fails with `NoRoom` where the bytes have no place, or a faster file has taken the place of this one. */
  take: (bytes: number) => Promise<void>;
  /** Awaits work of our disk: its time makes no file slow. */
  ownTime: <T>(work: Promise<T>) => Promise<T>;
  /** Gives back what the file holds no longer, or what has become pieces and stays taken. */
  release: (bytes: number) => void;
  /** Aborts, with `NoRoom`, once a faster file has taken the place of this one. */
  signal: AbortSignal;
  close: () => void;
}>;

type Receiving = { bytes: number; beganMs: number; ownSinceMs: number | undefined; readonly ending: AbortController };

const unboundedShare = 16 * 2 ** 30;
const leastSeconds = 1;
const retryMs = 100;
const patienceMs = 10_000;

/**
 * All files that are being received together may fill a quarter of a store, and one alone as much as there is.
 *
 * Where that is not enough the slowest gives way to a faster one: whoever holds room by bytes that hardly come keeps it
 * only while nobody else needs it.
 */
export function createDraftRoom(room: Room, bound: number, clock: () => number = () => performance.now()): DraftRoom {
  const share = bound < 0 ? unboundedShare : bound / 4;
  const all = new Set<Receiving>();
  const rateOf = ({ bytes, beganMs, ownSinceMs = clock() }: Receiving, more = 0): number =>
    (bytes + more) / Math.max(leastSeconds, (ownSinceMs - beganMs) / 1000);
  /** Whether there is room for more of a file, after slower ones have given way. */
  const makeRoom = (own: Receiving, more: number): boolean => {
    for (;;) {
      const others = [...all].filter((one) => one !== own && one.bytes > 0);
      const held = others.reduce((sum, { bytes }) => sum + bytes, own.bytes);
      const [slowest] = others.toSorted((a, b) => rateOf(a) - rateOf(b));
      if (!slowest || held + more <= share) return true;
      if (rateOf(slowest) >= rateOf(own, more)) return false;
      all.delete(slowest);
      slowest.ending.abort(new NoRoom('faster files need the room of this one'));
    }
  };
  const workOn = async <T>(own: Receiving, work: Promise<T>): Promise<T> => {
    const sinceMs = (own.ownSinceMs = clock());
    try {
      return await work;
    } finally {
      own.beganMs += clock() - sinceMs;
      own.ownSinceMs = undefined;
    }
  };
  return {
    open: () => {
      const own: Receiving = { bytes: 0, beganMs: clock(), ownSinceMs: undefined, ending: new AbortController() };
      const { signal } = own.ending;
      all.add(own);
      const ownTime: DraftShare['ownTime'] = async (work) => await workOn(own, work);
      return {
        signal,
        take: async (bytes) => {
          // Who holds room by bytes that came once is slower with every moment.
          for (let waitedMs = 0; !signal.aborted && !makeRoom(own, bytes); waitedMs += retryMs) {
            if (waitedMs >= patienceMs) throw new NoRoom('files that are being received fill their share');
            await wait(retryMs, signal);
          }
          signal.throwIfAborted();
          own.bytes += bytes;
          await ownTime(room.take(bytes)).catch((caught: unknown) => {
            own.bytes -= bytes;
            throw caught;
          });
        },
        ownTime,
        release: (bytes) => void (own.bytes -= bytes),
        close: () => void all.delete(own),
      };
    },
  };
}
