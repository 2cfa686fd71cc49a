import { AppError } from '../../../commands/errors.ts';
import { callerOf } from '../../kit/net-address.ts';

/** Takes a turn of a caller's; the returned function gives it back. Fails with `TOO_MANY_REQUESTS`. */
export type Turns = (ip: string) => () => void;

/** Turns of callers, each of which has so many at once. */
export function createTurns(most: number): Turns {
  const taken = new Map<string, number>();
  return (ip) => {
    const caller = callerOf(ip);
    const now = taken.get(caller) ?? 0;
    if (now >= most)
      throw new AppError('TOO_MANY_REQUESTS', `As many uploads at once as one address may have: ${most}`);
    taken.set(caller, now + 1);
    return () => {
      const left = (taken.get(caller) ?? 1) - 1;
      if (left > 0) taken.set(caller, left);
      else taken.delete(caller);
    };
  };
}
