import { AppError } from '../../../kit/errors.ts';

/**
 * A failure of this gateway's own disk: no node is to blame for it, and another node does not help.
 *
 * Its text is for clients and names no path; the cause is for the log.
 */
export class DiskFailure extends AppError {}

/** Awaits work with a file of ours; what fails is a `DiskFailure` of the code `INSUFFICIENT_STORAGE` or `INTERNAL`. */
export async function onOwnDisk<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    throw diskFailure(cause);
  }
}

function diskFailure(cause: unknown): DiskFailure {
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : '';
  return ['ENOSPC', 'EDQUOT', 'INSUFFICIENT_STORAGE'].includes(code)
    ? new DiskFailure('INSUFFICIENT_STORAGE', 'the gateway has no room left for the file; try again later', { cause })
    : new DiskFailure('INTERNAL', 'the disk of the gateway failed; its log has the reason', { cause });
}
