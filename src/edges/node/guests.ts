import type { ChainClient } from '../chain/rest/client.ts';
import type { Peer } from '../rpc/channel/hello.ts';

/** Who may open a secure channel, as the chain says. */
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
 * Asks the chain whether an account exists, of a SuperNode whether it is one, in whatever state.
 *
 * A yes is remembered for an hour, the last thousand of them; a no is not, and neither is a chain out of reach, with
 * which the question fails within 5 s.
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
