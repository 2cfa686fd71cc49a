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
import { inSteps } from './space.ts';
import { createTurns } from '../../../kit/turns.ts';

/** The checks of an upload before its bytes are read. */
export type UploadAdmission = Readonly<{
  /**
   * Takes a turn for a body that is written to a file; fails where there is no room for the declared bytes.
   *
   * Room is reserved in steps as the bytes come: no client holds more of it than it sent.
   */
  enter: (ip: string, body: Body) => Promise<Entry>;
  /** The action that a file can be uploaded for now; fails where there is none, or it is not to be had. */
  admit: (actionId: string) => Promise<FileAction>;
}>;

/** A body of so many bytes that continues a file, from a position of it. */
type Body = Readonly<{ file: string; from?: number; bytes: number }>;

/** A body's turn and its room. */
export type Entry = Readonly<{
  /** Reserves room for the file to have so many bytes; fails with `INSUFFICIENT_STORAGE`. */
  makeRoom: (bytes: number) => Promise<void>;
  leave: () => void;
}>;

/** The parts of a gateway that admission uses. */
export type Admitting = Pick<GatewayDependencies, 'chain' | 'elsewhere' | 'files' | 'runner' | 'settings'>;

/** Admits uploads: so many at once, so many bytes, for pending actions that no other client uploads. */
export function createAdmission(dependencies: Admitting): UploadAdmission {
  const { chain, elsewhere, files, runner, settings } = dependencies;
  const takeTurn = createTurns({ what: 'uploads', mostPerAddress: settings.uploadsMaxPerAddress });
  return {
    enter: async (ip, { file, from = 0, bytes }) => {
      const giveBack = takeTurn(ip);
      try {
        await files.space.require(bytes, 'upload');
        const room = await files.space.reserve(file, 0, 'upload');
        return {
          makeRoom: inSteps(room, from + bytes),
          leave: () => {
            giveBack();
            room.release();
          },
        };
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
