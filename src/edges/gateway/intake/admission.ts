import { AppError } from '../../../kit/errors.ts';
import type { GatewayDependencies } from '../rest/dependencies.ts';
import {
  actionOnChain,
  checkHash,
  checkPending,
  checkServed,
  checkSignature,
  type FileAction,
  type SignatureContext,
} from './checks.ts';
import type { UploadForm } from './receive.ts';
import { inSteps, type Reservation, type Space } from './space.ts';
import { createTurns } from '../../../kit/turns.ts';

/** The checks of an upload before its bytes are read. */
export type UploadAdmission = Readonly<{
  /**
   * Takes a turn for a body that is written to a file; fails where there is no room for the declared bytes.
   *
   * Room is reserved in steps as the bytes come, so a stranger holds no more of it than it sent; once the creator is
   * proven, for all declared bytes, so that whichever upload is let in completes.
   */
  enter: (ip: string, body: Body) => Promise<Entry>;
  /** The action that a file can be uploaded for now; fails where there is none, or it is not to be had. */
  admit: (actionId: string) => Promise<FileAction>;
}>;

/** A body that continues a file from a position; `bytes` are those that the file is to have in all, where declared. */
type Body = Readonly<{
  file: string;
  from?: number;
  bytes: number | undefined;
  /** The action whose creator is proven already. */
  action?: string;
}>;

/** A body's turn and its room. */
export type Entry = Readonly<{
  /** Reserves room for the file to have so many bytes; fails with `INSUFFICIENT_STORAGE`. */
  makeRoom: (bytes: number) => Promise<void>;
  /** Reserves room for all declared bytes: the action's creator sends them. Fails with `INSUFFICIENT_STORAGE`. */
  proven: (action: string) => Promise<void>;
  /** All bytes are on the disk: nothing is reserved any more. */
  received: () => void;
  /** Gives back the turn, and the room too unless the sender is expected back within so long. */
  leave: (expectedMs?: number) => void;
}>;

/** The parts of a gateway that admission uses. */
export type Admitting = Pick<GatewayDependencies, 'chain' | 'elsewhere' | 'files' | 'runner' | 'settings'>;

/** Admits uploads: so many at once, so many bytes, for pending actions that no other client uploads. */
export function createAdmission(dependencies: Admitting): UploadAdmission {
  const { chain, elsewhere, files, runner, settings } = dependencies;
  const takeTurn = createTurns({ what: 'uploads', mostPerAddress: settings.uploadsMaxPerAddress });
  return {
    enter: async (ip, body) => {
      const giveBack = takeTurn(ip);
      try {
        const { space } = files;
        return entryOf(body, { space, room: await roomFor(space, body), giveBack });
      } catch (caught) {
        giveBack();
        throw caught;
      }
    },
    admit: async (actionId) => {
      const action = await actionOnChain(chain, actionId);
      if (runner.uploadOf(actionId)) return action;
      checkPending(action);
      await elsewhere.check(actionId);
      return action;
    },
  };
}

/** Reserves the room of a body: all of it where its creator is proven, else none until bytes come. */
async function roomFor(space: Space, { file, from = 0, bytes, action }: Body): Promise<Reservation> {
  if (action === undefined || bytes === undefined)
    await space.require(bytes === undefined ? 1 : bytes - from, 'upload');
  const room = await space.reserve(file, 0, 'upload');
  try {
    if (action !== undefined && bytes !== undefined) await room.promise(bytes, action);
    return room;
  } catch (caught) {
    room.release();
    throw caught;
  }
}

type Taken = Readonly<{ space: Space; room: Reservation; giveBack: () => void }>;

function entryOf({ file, bytes }: Body, { space, room, giveBack }: Taken): Entry {
  return {
    makeRoom: inSteps(room, bytes ?? Infinity),
    proven: async (action) => (bytes === undefined ? undefined : await room.promise(bytes, action)),
    received: () => space.settle(file),
    leave: (expectedMs) => {
      giveBack();
      room.release(expectedMs);
    },
  };
}

/** Returns whether an action's creator signed its data hash. */
export async function isCreators(judging: SignatureContext, action: FileAction, signature: string): Promise<boolean> {
  try {
    await checkSignature(judging, action, { text: action.file.dataHash, signature });
    return true;
  } catch (caught) {
    if (caught instanceof AppError && caught.code === 'UNAUTHORIZED') return false;
    throw caught;
  }
}

/** Checks an upload once its bytes have been received. */
export async function checkUpload(
  judging: SignatureContext,
  action: FileAction,
  { received, signature }: UploadForm,
): Promise<void> {
  checkHash(action, received.hashes);
  await checkSignature(judging, action, { text: action.file.dataHash, signature });
  await checkServed(judging.chain, action);
}
