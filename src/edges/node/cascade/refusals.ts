import { Code, ConnectError } from '@connectrpc/connect';
import { NoRoom } from '../storage/room.ts';

/** The codes with which a call about files is refused (spec 1, storage). */
const codes = {
  invalid: Code.InvalidArgument,
  notFound: Code.NotFound,
  notNow: Code.FailedPrecondition,
  busy: Code.AlreadyExists,
  unsigned: Code.Unauthenticated,
  wronglySigned: Code.PermissionDenied,
  tooLarge: Code.ResourceExhausted,
  unavailable: Code.Unavailable,
} as const;

/** Why a call about files is refused. */
export type FileRefusal = keyof typeof codes;

/** The error that a client reads. */
export function refusal(why: FileRefusal, message: string): ConnectError {
  return new ConnectError(message, codes[why]);
}

/** A store without room is no fault of ours: the client receives the reason. */
export function sayingNoRoom(caught: unknown): never {
  throw caught instanceof NoRoom ? refusal('tooLarge', caught.message) : caught;
}
