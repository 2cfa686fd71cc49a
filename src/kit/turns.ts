import { isOneOf } from './connection-limits.ts';
import { AppError } from './errors.ts';
import { callerOf } from './net-address.ts';

/** Takes a turn of a caller's; the returned function releases it. Fails with `TOO_MANY_REQUESTS`. */
export type Turns = (ip: string) => () => void;

/** How many of what callers may have at once: each of them, and all together. */
export type TurnLimits = Readonly<{
  what: string;
  mostPerAddress: number;
  most?: number;
  /** Addresses and subnets of proxies, which stand for many callers and are bounded by `most` alone. */
  trustedProxies?: readonly string[];
}>;

const retryText = 'try again later';

/** Turns of callers, each of which has so many at once; `UNAVAILABLE` where all of them together have too many. */
export function createTurns({ what, mostPerAddress, most = Infinity, trustedProxies = [] }: TurnLimits): Turns {
  const accepted = new Map<string, number>();
  let all = 0;
  return (ip) => {
    const caller = callerOf(ip);
    const now = accepted.get(caller) ?? 0;
    if (now >= mostPerAddress && !isOneOf(ip, trustedProxies))
      throw new AppError('TOO_MANY_REQUESTS', `As many ${what} at once as one address may have: ${mostPerAddress}`);
    if (all >= most)
      throw new AppError('UNAVAILABLE', `As many ${what} at once as there may be: ${most}; ${retryText}`);
    all += 1;
    accepted.set(caller, now + 1);
    return () => {
      all -= 1;
      const left = (accepted.get(caller) ?? 1) - 1;
      if (left > 0) accepted.set(caller, left);
      else accepted.delete(caller);
    };
  };
}
