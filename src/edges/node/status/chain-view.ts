import { toAppError } from '../../../kit/errors.ts';
import { hostOf } from '../../../projections/fleet/address.ts';
import { type ChainClient, type ChainSession, readHead } from '../../chain/rest/client.ts';
import { asObject, objects } from '../../chain/rest/values.ts';
import { parseSuperNode } from '../../chain/rest/records.ts';
import { hostPort } from '../../../kit/net-address.ts';
import type { Logger } from '../../../kit/logger.ts';
import { wait } from '../../../kit/wait.ts';

/** The chain's record of a node. */
export type OnChain = Readonly<{
  /** The latest address, with a port; undefined before the node is registered. */
  address: string | undefined;
  /** Rank from 1 in the top list; 0 outside of it, or when it has been unknown for the last 30 s. */
  rank: number;
  /** Whether the chain answered the last time. */
  isReached: boolean;
}>;

/** The account whose rank is read, and how often. */
export type ViewOptions = Readonly<{
  chain: ChainClient;
  account: string;
  addressPrefix: string;
  /** Added to an address that lacks one. */
  grpcPort: () => number;
  intervalMs?: number;
  logger: Logger;
  signal: AbortSignal;
}>;

const usualIntervalMs = 10_000;
const rankHoldsMs = 30_000;
const topListLength = 25;

/** Follows the chain's record of a node, in the background; callers get what was read last, and never wait. */
export function followChain(options: ViewOptions): () => OnChain {
  let last = { address: undefined as string | undefined, rank: 0, atMs: 0 };
  let isReached = true;
  const { signal, logger, intervalMs = usualIntervalMs } = options;
  const follow = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        last = { ...(await readOnce(options.chain.session(signal), options)), atMs: performance.now() };
        isReached = true;
      } catch (caught) {
        if (signal.aborted) return;
        if (isReached) logger.warn({ err: toAppError(caught) }, 'node cannot read its place on the chain');
        isReached = false;
      }
      await wait(intervalMs, signal);
    }
  };
  void follow();
  return () => ({
    address: last.address,
    rank: performance.now() - last.atMs < rankHoldsMs ? last.rank : 0,
    isReached,
  });
}

async function readOnce(
  session: ChainSession,
  { account, addressPrefix, grpcPort }: ViewOptions,
): Promise<Omit<OnChain, 'isReached'>> {
  const own = await session.find(`~/supernode/v1/get_super_node_by_address/${account}`);
  const record = asObject(asObject(own?.body)?.['supernode']);
  const address = record ? parseSuperNode(record, addressPrefix).address : '';
  const { height } = await readHead(session);
  const top = await session.get(`~/supernode/v1/get_top_super_nodes_for_block/${height}`, {
    query: { limit: String(topListLength) },
  });
  const listed = objects(asObject(top.body)?.['supernodes'], 'supernodes');
  const rank = listed.findIndex((node) => node['supernode_account'] === account) + 1;
  return { address: address === '' ? undefined : withPort(address, grpcPort()), rank };
}

/** Operators write addresses as they like: those without a port have the usual one. */
function withPort(address: string, port: number): string {
  const host = hostOf(address) ?? address;
  const input = /:(\d{1,5})$/.exec(address)?.[1];
  return input !== undefined && hostPort(host, Number(input)) === address ? address : hostPort(host, port);
}
