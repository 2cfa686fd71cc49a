import { readFile } from 'node:fs/promises';
import { News } from '../../src/edges/evm/chain/news.ts';
import { createExecutor, type UncommittedBlock } from '../../src/edges/evm/executor/executor.ts';
import { createForks, type Forks } from '../../src/edges/evm/executor/forks.ts';
import type { GethGenesis } from '../../src/edges/evm/executor/state/genesis.ts';
import type { Namespace } from '../../src/edges/evm/namespaces.ts';
import { type RpcPosition, type ServedRpc, serveRpc } from '../../src/edges/evm/rpc/serve-rpc.ts';
import { createExecution } from '../../src/edges/evm/workers/execution.ts';
import type { StateAccess } from '../../src/edges/evm/workers/state-access.ts';
import { createStateReads } from '../../src/edges/evm/workers/state-reads.ts';
import { MemoryBlocks } from '../../test/support/histories/memory-blocks.ts';
import { createMemoryNodes } from '../../test/support/histories/memory-nodes.ts';
import { foreignChain, splitBlocks } from './geth-forms.ts';
import { createShownPool } from './shown-pool.ts';

/** A chain of another network, and how JSON-RPC serves it. */
export type ForeignChainOptions = RpcPosition &
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

/** The name of a chain's network: `eth_` and 8 hex digits of its first block's hash. */
export async function networkOfGenesis(genesis: GethGenesis): Promise<string> {
  const { hash } = await createExecutor({ config: foreignChain(genesis), nodes: createMemoryNodes() }).genesis();
  return `eth_${hash.slice(2, 10)}`;
}

/**
 * Executes another chain from its genesis and its blocks, checks every root, and serves it over JSON-RPC.
 *
 * Blocks that are stored already are executed once more. Fails with `CONFLICT` where a block's results differ from its
 * header, or where the state of the network belongs to another chain.
 *
 * @example
 * const { url } = await serveForeignChain({ ...where, genesis, blocksFile: 'chain.rlp', httpPort: 8545 });
 */
export async function serveForeignChain(options: ForeignChainOptions): Promise<ServedRpc> {
  const { postgres, network, gasCap, version } = options;
  const config = foreignChain(options.genesis);
  const access: StateAccess = { postgres, network, config };
  const forks = createForks(config);
  const blocks = await importedBlocks(access, forks, options);
  const reads = createStateReads({ access, threads: options.readThreads, timeoutMs: options.callTimeoutMs });
  const news = new News();
  const pool = createShownPool(forks, blocks, news);
  const context = { config, forks, blocks, reads, pool, gasCap, version, news, enabled: new Set(options.namespaces) };
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

async function importedBlocks(
  access: StateAccess,
  forks: Forks,
  { blocksFile, signal }: Pick<ForeignChainOptions, 'blocksFile' | 'signal'>,
): Promise<MemoryBlocks> {
  const file = blocksFile === undefined ? new Uint8Array() : await readFile(blocksFile);
  const blocks = new MemoryBlocks(forks);
  const execution = createExecution(access);
  const add = async ({ commit, ...shown }: UncommittedBlock): Promise<Uint8Array> => {
    await commit();
    blocks.add(shown);
    return shown.header;
  };
  try {
    let parent = await add(await execution.genesis());
    for (const block of splitBlocks(file)) {
      signal.throwIfAborted();
      parent = await add(await execution.apply(parent, { block }));
    }
    return blocks;
  } finally {
    await execution.close();
  }
}
