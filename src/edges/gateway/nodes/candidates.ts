import { toAppError } from '../../../kit/errors.ts';
import { AccountsOfUnavailable } from '../../../projections/fleet/queries.ts';
import { runQuery } from '../../bus.ts';
import {
  type CascadeChain,
  type CascadeChainOptions,
  createCascadeChain,
  type StoringNode,
} from '../../chain/files/chain.ts';
import type { ChainClient } from '../../chain/rest/client.ts';
import { rememberingKeys } from '../intake/known-keys.ts';
import type { GatewayDependencies } from '../rest/dependencies.ts';
import { createFailures, type Failures } from './failures.ts';
import { createGatewayHedges, type GatewayHedges } from './hedges.ts';

/**
 * The chain for a gateway: nodes that are known to be available come first, and keys are cached; with the store of
 * nodes that fail, and the pace of transfers.
 */
export function createGatewayChain(
  client: ChainClient,
  { reader, ...options }: CascadeChainOptions & Pick<Ordering, 'reader'>,
): Readonly<{ chain: CascadeChain; failures: Failures; hedges: GatewayHedges }> {
  const failures = createFailures();
  return {
    chain: rememberingKeys(availableFirst(createCascadeChain(client, options), { reader, failures })),
    failures,
    hedges: createGatewayHedges(),
  };
}

/** The sources of the order of nodes. */
export type Ordering = Pick<GatewayDependencies, 'reader'> & Readonly<{ failures?: Failures | undefined }>;

/**
 * The same chain, whose storing nodes come in another order: those that failed a transfer lately behind the others, and
 * those that the last probe found unavailable last.
 *
 * Where there is no read model, or no process probes, the order is that of the chain.
 */
export function availableFirst(chain: CascadeChain, { reader: { read }, failures }: Ordering): CascadeChain {
  const unavailable = async (): Promise<ReadonlySet<string>> => {
    try {
      return new Set(await read((reading) => runQuery(reading, new AccountsOfUnavailable({}))));
    } catch (caught) {
      if (toAppError(caught).code !== 'UNAVAILABLE') throw caught;
      return new Set();
    }
  };
  return {
    ...chain,
    storers: async (height) => {
      const [{ nodes, ...rest }, last] = await Promise.all([chain.storers(height), unavailable()]);
      const rank = ({ account }: StoringNode): number =>
        2 * Number(last.has(account)) + Number(failures?.has(account) ?? false);
      return { ...rest, nodes: nodes.toSorted((a, b) => rank(a) - rank(b)) };
    },
  };
}
