import pLimit from 'p-limit';
import { AppError } from '../../kit/errors.ts';
import type { ChainClient } from '../chain/rest/client.ts';
import type { ProvenPeer } from '../rpc/channel/hello.ts';

/** Returns whether the chain allows a peer to open a secure channel. */
export type IsWelcome = (peer: ProvenPeer) => Promise<boolean>;

const lookupMs = 5000;
const remembersMs = 3_600_000;
const remembersNoMs = 10_000;
/** Of the chain client's slots: the node's own work has the others. */
const checkUpsAtOnce = 2;
const mostWaiting = 64;
const rememberedAccounts = 1000;

/** Routes that know an account of each type. */
const routes = {
  client: (address: string) => `/cosmos/auth/v1beta1/account_info/${address}`,
  superNode: (address: string) => `~/supernode/v1/get_super_node_by_address/${address}`,
} as const;

/**
 * Queries whether the chain knows an account, and of a SuperNode whether it lists one, in whatever state.
 *
 * It caches a yes for an hour and a no for ten seconds, the last thousand of each. Where the chain is out of reach the
 * query fails within 5 s, and at once while many others wait: strangers have two of the client's slots.
 */
export function createGuests(chain: ChainClient, now: () => number = () => performance.now()): IsWelcome {
  const answers = { yes: createMemory(remembersMs, now), no: createMemory(remembersNoMs, now) };
  const inFlight = new Map<string, Promise<boolean>>();
  const limit = pLimit(checkUpsAtOnce);
  const checkUp = async (route: string): Promise<boolean> => {
    const signal = AbortSignal.timeout(lookupMs);
    const isKnown = await limit(async () => (await chain.session(signal).find(route)) !== undefined);
    answers[isKnown ? 'yes' : 'no'].add(route);
    return isKnown;
  };
  return async ({ address, type }) => {
    const route = routes[type](address);
    if (answers.yes.has(route)) return true;
    if (answers.no.has(route)) return false;
    if (!inFlight.has(route) && inFlight.size >= mostWaiting)
      throw new AppError('UNAVAILABLE', 'Too many accounts are being looked up');
    const request = inFlight.get(route) ?? checkUp(route).finally(() => inFlight.delete(route));
    inFlight.set(route, request);
    return await request;
  };
}

type Memory = Readonly<{ has: (route: string) => boolean; add: (route: string) => void }>;

function createMemory(lastsMs: number, now: () => number): Memory {
  const until = new Map<string, number>();
  return {
    has: (route) => (until.get(route) ?? 0) > now(),
    add: (route) => {
      until.delete(route);
      until.set(route, now() + lastsMs);
      const [oldest] = until.keys();
      if (until.size > rememberedAccounts && oldest !== undefined) until.delete(oldest);
    },
  };
}
