import { listen } from '../kit/listen.ts';
import type { Logger } from '../kit/logger.ts';
import { hostPort } from '../kit/net-address.ts';
import { MemoryBlocks } from './chain/chain-blocks.ts';
import { importBlocks } from './chain/import-blocks.ts';
import { createShownPool } from './chain/pending-pool.ts';
import { createForks } from './executor/forks.ts';
import { foreignChain, type GethGenesis } from './executor/genesis.ts';
import { methods } from './methods/all.ts';
import { createDispatcher } from './rpc/dispatcher.ts';
import { createHttpServer } from './rpc/http-server.ts';
import type { Namespace } from './namespaces.ts';
import type { MethodContext } from './rpc/registry.ts';
import { createExecution } from './workers/execution.ts';
import type { StateAccess } from './workers/state-access.ts';
import { createStateReads } from './workers/state-reads.ts';

/** Somebody else's chain, and how it is served. */
export type ForeignChainOptions = Readonly<{
  postgres: StateAccess['postgres'];
  network: string;
  genesis: GethGenesis;
  /** File of its blocks, RLP forms one behind the other. */
  blocksFile?: string | undefined;
  host: string;
  httpPort: number;
  namespaces: readonly Namespace[];
  gasCap: bigint;
  callTimeoutMs: number;
  readThreads: number;
  version: string;
  logger: Logger;
  signal: AbortSignal;
}>;

/** A chain that is served. */
export type ForeignChain = Readonly<{ url: string; stop: () => Promise<void> }>;

/**
 * Executes somebody else's chain from its genesis and its blocks, checks every root, and serves it over JSON-RPC.
 *
 * Fails with `CONFLICT` where a block does not execute as it says, or where the network's state is another chain's.
 *
 * @example
 * const { url } = await runForeignChain({ ...where, genesis, blocksFile: 'chain.rlp', httpPort: 8545 });
 */
export async function runForeignChain(options: ForeignChainOptions): Promise<ForeignChain> {
  const { postgres, network, genesis, logger, host, signal } = options;
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
  const pool = createShownPool(async () => {
    const { number, block } = await blocks.head();
    return forks.at({ number: number + 1n, timestamp: block.header.timestamp });
  });
  const enabled = new Set(options.namespaces);
  const context: MethodContext = { config, forks, blocks, reads, pool, gasCap, version, enabled };
  const server = createHttpServer(createDispatcher(methods, context, logger));
  const place = { what: 'JSON-RPC', remedy: 'Stop what uses it, or set EVM_HTTP_PORT.' };
  const port = await listen(server, { host, port: options.httpPort, ...place });
  const stop = async (): Promise<void> => {
    server.closeAllConnections();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
    await reads.close();
  };
  signal.addEventListener('abort', () => server.close(), { once: true });
  return { url: `http://${hostPort(host, port)}`, stop };
}
