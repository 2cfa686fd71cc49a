import { AppError } from '../../../kit/errors.ts';
import { callerOf } from '../../../kit/net-address.ts';

/** Takes a turn of a caller's; the returned function gives it back. Fails with `TOO_MANY_REQUESTS`. */
export type Turns = (ip: string) => () => void;

/** How many of what callers may have at once: each of them, and all together. */
export type TurnLimits = Readonly<{ what: string; mostPerAddress: number; most?: number }>;

const retryText = 'try again later';

/** Turns of callers, each of which has so many at once; `UNAVAILABLE` where all of them together have too many. */
export function createTurns({ what, mostPerAddress, most = Infinity }: TurnLimits): Turns {
  const taken = new Map<string, number>();
  let all = 0;
  return (ip) => {
    const caller = callerOf(ip);
    const now = taken.get(caller) ?? 0;
    if (now >= mostPerAddress)
      throw new AppError('TOO_MANY_REQUESTS', `As many ${what} at once as one address may have: ${mostPerAddress}`);
    if (all >= most)
      throw new AppError('UNAVAILABLE', `As many ${what} as this gateway carries out at once: ${most}; ${retryText}`);
    all += 1;
    taken.set(caller, now + 1);
    return () => {
      all -= 1;
      const left = (taken.get(caller) ?? 1) - 1;
      if (left > 0) taken.set(caller, left);
      else taken.delete(caller);
    };
  };
}
