import { toAppError } from '../../../commands/errors.ts';
import { AccountsOfUnavailable } from '../../../projections/fleet/queries.ts';
import { ask } from '../../bus.ts';
import { type CascadeChain, type CascadeChainOptions, createCascadeChain } from '../../cascade/chain.ts';
import type { ChainClient } from '../../indexer/chain/client.ts';
import { rememberingKeys } from '../intake/known-keys.ts';
import type { GatewayDependencies } from '../rest/dependencies.ts';

/** The chain as a gateway asks it: nodes that are known to be available come first, keys are remembered. */
export function createGatewayChain(
  client: ChainClient,
  { reader, ...options }: CascadeChainOptions & Pick<GatewayDependencies, 'reader'>,
): CascadeChain {
  return rememberingKeys(availableFirst(createCascadeChain(client, options), reader));
}

/**
 * The same chain, whose storing nodes come in another order: those that the last probe found unavailable last.
 *
 * Where there is no read model, or nobody probes, the order is that of the chain.
 */
export function availableFirst(chain: CascadeChain, { read }: GatewayDependencies['reader']): CascadeChain {
  const unavailable = async (): Promise<ReadonlySet<string>> => {
    try {
      return new Set(await read((reading) => ask(reading, new AccountsOfUnavailable({}))));
    } catch (caught) {
      if (toAppError(caught).code !== 'UNAVAILABLE') throw caught;
      return new Set();
    }
  };
  return {
    ...chain,
    storers: async (height) => {
      const [{ nodes, total }, last] = await Promise.all([chain.storers(height), unavailable()]);
      return { nodes: nodes.toSorted((a, b) => Number(last.has(a.account)) - Number(last.has(b.account))), total };
    },
  };
}
