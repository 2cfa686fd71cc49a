import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { createDataHasher } from '../../chain/files/data-hash.ts';
import type { writeSynced } from '../../../kit/durable.ts';
import { hashPiece, pieceBytes, type PieceHash } from './piece-hash.ts';
import type { Pieces, WrittenPiece } from './pieces.ts';
import type { DraftRoom } from './draft-room.ts';
import type { Room } from './room.ts';

/** A file that is being received: nothing of it can be read before it is adopted. */
export type ReceivedFile = Readonly<{
  /** Bytes so far. */
  size: () => number;
  /** Adds bytes; fails with `NoRoom` where there is no room for them. Waits while the disk is behind. */
  add: (bytes: Uint8Array) => Promise<void>;
  /** Ends the file and waits until the disk has it; returns its data hash. */
  finish: () => Promise<string>;
  /** Makes pieces of a finished file, in order. */
  adopt: () => Promise<readonly PieceHash[]>;
  /** Aborts, with `NoRoom`, where a faster file has taken the place of this one. */
  signal: AbortSignal;
  /** Removes what was not adopted; safe to repeat. */
  discard: () => Promise<void>;
}>;

/** Writes of pieces to the disk that may be under way at once. */
const writesAtOnce = 4;
/** A sender of little holds little memory: the first piece grows with its bytes. */
const firstBytes = 16 * 1024;

/** Where drafts are written and what they become; `inUse` has the folders of those that are not discarded. */
export type DraftOptions = Readonly<{
  incoming: string;
  pieces: Pick<Pieces, 'adopt'>;
  room: Room;
  shares: DraftRoom;
  inUse: Set<string>;
  write: typeof writeSynced;
}>;

/** Starts a file in a folder of its own below `incoming`. */
export async function startDraft({
  incoming,
  pieces,
  room,
  shares,
  inUse,
  write: writePiece,
}: DraftOptions): Promise<ReceivedFile> {
  const folder = path.join(incoming, randomUUID());
  inUse.add(folder);
  await mkdir(folder, { mode: 0o700 });
  const hasher = await createDataHasher();
  const share = shares.open();
  const written: WrittenPiece[] = [];
  const writing: Promise<void>[] = [];
  let unwritten = Buffer.allocUnsafe(firstBytes);
  let [filled, size] = [0, 0];
  const write = async (bytes: Buffer): Promise<void> => {
    if (writing.length >= writesAtOnce) await share.ownTime(Promise.resolve(writing.shift()));
    await share.take(bytes.length);
    const piece = { file: path.join(folder, String(written.length)), hash: hashPiece(bytes), bytes: bytes.length };
    written.push(piece);
    const done = writePiece(piece.file, bytes);
    done.catch(() => undefined);
    writing.push(done);
  };
  return {
    signal: share.signal,
    size: () => size,
    add: async (bytes) => {
      for (let at = 0; at < bytes.length;) {
        const part = bytes.subarray(at, at + pieceBytes - filled);
        hasher.update(part);
        unwritten = withRoom(unwritten, filled + part.length);
        unwritten.set(part, filled);
        [at, filled, size] = [at + part.length, filled + part.length, size + part.length];
        if (filled < pieceBytes) continue;
        await write(unwritten);
        [unwritten, filled] = [Buffer.allocUnsafe(pieceBytes), 0];
      }
    },
    finish: async () => {
      if (filled > 0) await write(unwritten.subarray(0, filled));
      await Promise.all(writing);
      return hasher.digest();
    },
    adopt: async () => {
      const hashes = written.map(({ hash }) => hash);
      await pieces.adopt([...written], () => share.release(written.shift()?.bytes ?? 0));
      return hashes;
    },
    discard: async () => {
      await Promise.allSettled(writing);
      for (const { bytes } of written.splice(0)) room.giveBack(bytes);
      share.close();
      await rm(folder, { recursive: true, force: true });
      inUse.delete(folder);
    },
  };
}

/** The same bytes with room for at least so many, and no more than a piece has. */
function withRoom(buffer: Buffer<ArrayBuffer>, bytes: number): Buffer<ArrayBuffer> {
  if (bytes <= buffer.length) return buffer;
  const larger = Buffer.allocUnsafe(Math.min(pieceBytes, Math.max(2 * buffer.length, bytes)));
  buffer.copy(larger);
  return larger;
}
