import type { Common } from '@ethereumjs/common';
import { MemoryBlocks } from './chain/memory-blocks.ts';
import { importBlocks } from './chain/import-blocks.ts';
import { News } from './chain/news.ts';
import { createShownPool } from './chain/pending-pool.ts';
import { createForks } from './executor/forks.ts';
import { foreignChain, type GethGenesis } from './executor/genesis.ts';
import type { Namespace } from './namespaces.ts';
import { type RpcPlace, type ServedRpc, serveRpc } from './rpc/serve-rpc.ts';
import { createExecution } from './workers/execution.ts';
import type { StateAccess } from './workers/state-access.ts';
import { createStateReads } from './workers/state-reads.ts';

/** Somebody else's chain, and how it is served. */
export type ForeignChainOptions = RpcPlace &
  Readonly<{
    postgres: StateAccess['postgres'];
    network: string;
    genesis: GethGenesis;
    /** File of its blocks, RLP forms one behind the other. */
    blocksFile?: string | undefined;
    namespaces: readonly Namespace[];
    gasCap: bigint;
    callTimeoutMs: number;
    readThreads: number;
    version: string;
    signal: AbortSignal;
  }>;

/**
 * Executes somebody else's chain from its genesis and its blocks, checks every root, and serves it over JSON-RPC.
 *
 * Fails with `CONFLICT` where a block does not execute as it says, or where the network's state is another chain's.
 *
 * @example
 * const { url } = await runForeignChain({ ...where, genesis, blocksFile: 'chain.rlp', httpPort: 8545 });
 */
export async function runForeignChain(options: ForeignChainOptions): Promise<ServedRpc> {
  const { postgres, network, genesis, logger } = options;
  const config = foreignChain(genesis);
  const access: StateAccess = { postgres, network, config };
  const forks = createForks(config);
  const blocks = new MemoryBlocks(forks);
  const execution = createExecution(access);
  try {
    await importBlocks(execution, blocks, options);
  } finally {
    await execution.close();
  }
  const head = await blocks.head();
  logger.info({ network, number: Number(head.number), hash: head.hash }, 'chain imported');
  const { gasCap, callTimeoutMs: timeoutMs, readThreads: threads, version } = options;
  const reads = createStateReads({ access, threads, timeoutMs });
  const news = new News();
  const nextRules = async (): Promise<Common> => {
    const { number, fields } = await blocks.head();
    return forks.at({ number: number + 1n, timestamp: fields.timestamp });
  };
  const pool = createShownPool(nextRules, (transaction) => news.tellPending(transaction));
  const enabled = new Set(options.namespaces);
  const context = { config, forks, blocks, reads, pool, gasCap, version, enabled, news };
  const served = await serveRpc(context, options).catch(async (caught: unknown) => {
    await reads.close();
    throw caught;
  });
  const stop = async (): Promise<void> => {
    await served.stop();
    await reads.close();
  };
  return { ...served, stop };
}
