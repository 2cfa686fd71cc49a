import pg from 'pg';
import { AppError } from '../../kit/errors.ts';

/**
 * Something that no waiting cures: the projection stops with this sentence until it is replayed or a newer version
 * starts.
 */
export class StopError extends AppError {
  /** The sequence of the fact that could not be applied, if one is the cause. */
  readonly sequence: number | undefined;
  constructor(message: string, options: { cause?: unknown; sequence?: number | undefined } = {}) {
    super('INTERNAL', message, options);
    this.name = 'StopError';
    this.sequence = options.sequence;
  }
}

/** Connections, resources, the operator, the system, lost races: all of it passes. */
const passingClasses = ['08', '40', '53', '57', '58'];
/**
 * A lock that was not available, a server that is a standby for now, and a session that was idle for too long in a
 * transaction.
 */
const passingCodes = ['55P03', '25006', '25P03', '25P04'];

const networkCodes = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ENOENT', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'];
const brokenConnection =
  /connection terminated|connection ended|not queryable|timeout exceeded when trying to connect|timeout expired|read timeout|calling end on the pool/i;

/**
 * An error of PostgreSQL or of the connection to it as an error of ours; any other error is returned unchanged.
 *
 * `UNAVAILABLE` is for what passes without an operator, a restart of the server included; anything else is a
 * `StopError`.
 */
export function toDatabaseError(caught: unknown): Error {
  if (!(caught instanceof Error)) return new Error(String(caught));
  if (caught instanceof AppError) return caught;
  const code = 'code' in caught && typeof caught.code === 'string' ? caught.code : '';
  const passes = caught instanceof pg.DatabaseError ? isPassing(code) : isNetwork(caught, code);
  if (passes)
    return new AppError('UNAVAILABLE', `PostgreSQL does not answer for now: ${caught.message}`, { cause: caught });
  if (!(caught instanceof pg.DatabaseError)) return caught;
  return new StopError(`PostgreSQL refused a statement: ${caught.message} (SQLSTATE ${code})`, { cause: caught });
}

/** A database or a table that is not there. */
const absentCodes = ['3D000', '42P01'];

/**
 * The same for readers: a missing table is `UNAVAILABLE` to them, for it is being made, or was left behind by a newer
 * generation.
 */
export function toReadError(caught: unknown): Error {
  const isAbsent = caught instanceof pg.DatabaseError && absentCodes.includes(caught.code ?? '');
  return isAbsent
    ? new AppError('UNAVAILABLE', `The read models are being made; try again soon: ${caught.message}`, {
        cause: caught,
      })
    : toDatabaseError(caught);
}

const isPassing = (code: string) => passingClasses.includes(code.slice(0, 2)) || passingCodes.includes(code);

/**
 * Whatever the system says to an attempt to connect: a server that is frozen lets so many wait at its socket, and the
 * next ones are told EAGAIN.
 */
const isNetwork = (caught: Error, code: string): boolean =>
  ('syscall' in caught && (caught.syscall === 'connect' || caught.syscall === 'getaddrinfo')) ||
  networkCodes.includes(code) ||
  brokenConnection.test(caught.message);

/** Pages or index entries that cannot be read, a file that is gone, and catalogues that contradict themselves. */
const damageCodes = ['XX000', 'XX001', 'XX002', '58P01'];

/** Returns whether an answer of PostgreSQL shows that its own files are damaged. */
export function isDamage(caught: unknown): caught is Error {
  const source = caught instanceof AppError ? caught.cause : caught;
  return source instanceof pg.DatabaseError && damageCodes.includes(source.code ?? '');
}

/** An answer that shows damage as plain data, as it leaves a thread. */
export type DamageNotice = Readonly<{ code: string; message: string }>;

/** Makes plain data of an answer that shows damage. */
export function damageNotice({ message, cause, ...own }: Error & { code?: unknown }): DamageNotice {
  const source = cause instanceof pg.DatabaseError ? cause : own;
  return { code: String(source.code), message };
}

/** The inverse; `isDamage` holds for it as for the original. */
export function damageOf({ code, message }: DamageNotice): Error {
  return Object.assign(new pg.DatabaseError(message, message.length, 'error'), { code });
}
