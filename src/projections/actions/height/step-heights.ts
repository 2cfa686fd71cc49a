import type { ActionRow } from '../../tables.ts';
import { unknownHeight } from '../action-tables.ts';

type AtHeight = Readonly<{ height: number }> | undefined;

/** The height of a step after a further fact of it, which may name a transaction. */
export function reachedAt(before: number | null, transaction: AtHeight): number {
  if (before === null || before === unknownHeight) return transaction?.height ?? unknownHeight;
  return Math.min(before, transaction?.height ?? before);
}

type Finalizing = Pick<ActionRow, 'accounts' | 'accounts_since' | 'finalized_height'>;

/**
 * What is known of the finalization after a further fact of it: who did, when the step was taken, and since when each.
 *
 * A fact without a transaction names accounts that finalized with the step, whenever that was.
 */
export function accountsWith(before: Finalizing, more: readonly string[], transaction: AtHeight): Finalizing {
  const accounts = [...new Set([...before.accounts, ...more])];
  const finalized_height = reachedAt(before.finalized_height, transaction);
  const named = new Set(more);
  const since = accounts.map((account, place) => {
    const isKnown = place < before.accounts.length;
    const earlier = isKnown && before.accounts_since ? before.accounts_since[place] : before.finalized_height;
    const now = transaction?.height ?? null;
    if (!isKnown) return now;
    if (!named.has(account)) return earlier ?? null;
    return earlier === null || earlier === undefined || now === null ? null : Math.min(earlier, now);
  });
  const isCommon = since.every((height) => height === finalized_height);
  return { accounts, finalized_height, accounts_since: isCommon ? null : since };
}

/** The least height at which an account of an action finalized it, by its index; null while unknown. */
export function finalizedSince({ accounts_since, finalized_height }: Finalizing, place: number): number | null {
  const own = accounts_since?.[place] ?? finalized_height;
  return own === unknownHeight ? null : own;
}
