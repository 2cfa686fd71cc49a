import type { ActionRecord } from '../../../commands/sync/action-states.ts';

const mostBytes = 2 ** 30;

/**
 * Size in bytes of the largest file that an action's record allows: its kibibytes, rounded either way, and never more
 * than 1 GiB. Records without a size are bounded by the latter alone.
 */
export function mostBytesOf({ fileSizeKbs }: Pick<ActionRecord, 'fileSizeKbs'>): number {
  return fileSizeKbs > 0 ? Math.min((fileSizeKbs + 1) * 1024, mostBytes) : mostBytes;
}
