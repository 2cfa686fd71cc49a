import type { ChainClient } from '../chain/rest/client.ts';
import type { Peer } from '../rpc/channel/hello.ts';

/** Returns whether the chain allows a peer to open a secure channel. */
export type IsWelcome = (peer: Peer) => Promise<boolean>;

const lookUpMs = 5000;
const remembersMs = 3_600_000;
const rememberedAccounts = 1000;

/** Routes that know an account of each type. */
const routes = {
  client: (address: string) => `/cosmos/auth/v1beta1/account_info/${address}`,
  superNode: (address: string) => `~/supernode/v1/get_super_node_by_address/${address}`,
} as const;

/**
 * Queries whether the chain knows an account, and of a SuperNode whether it lists one, in whatever state.
 *
 * It caches a yes for an hour, the last thousand of them, and never a no. Where the chain is out of reach, the query
 * fails within 5 s.
 */
export function createGuests(chain: ChainClient, now: () => number = () => performance.now()): IsWelcome {
  const known = new Map<string, number>();
  return async ({ address, type }) => {
    const route = routes[type](address);
    if ((known.get(route) ?? 0) > now()) return true;
    const found = await chain.session(AbortSignal.timeout(lookUpMs)).find(route);
    if (found === undefined) return false;
    known.delete(route);
    known.set(route, now() + remembersMs);
    const [oldest] = known.keys();
    if (known.size > rememberedAccounts && oldest !== undefined) known.delete(oldest);
    return true;
  };
}
