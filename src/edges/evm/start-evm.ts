import type { Log } from '../../engine/log/log.ts';
import type { Reader } from '../../engine/models/read/reading.ts';
import { followBlocks } from './chain/follow-blocks.ts';
import { contentsOf } from './chain/block-contents.ts';
import { News } from './chain/news.ts';
import { readModelBlocks } from './chain/read-blocks.ts';
import { createForks } from './executor/forks.ts';
import type { Namespace } from './namespaces.ts';
import { openPool } from './pool/open-pool.ts';
import { type RpcPosition, type ServedRpc, serveRpc } from './rpc/serve-rpc.ts';
import type { StateAccess } from './workers/state-access.ts';
import { createStateReads } from './workers/state-reads.ts';

/** How the JSON-RPC is served, and where the states that it reads lie; plain data. */
export type EvmSettings = Omit<RpcPosition, 'logger' | 'onAsked'> &
  Readonly<{
    access: StateAccess;
    namespaces: readonly Namespace[];
    callTimeoutMs: number;
    readThreads: number;
    gasCap: bigint;
    version: string;
  }>;

/** The parts that the JSON-RPC runs on. */
export type EvmOptions = EvmSettings &
  RpcPosition &
  Readonly<{ log: Log; reader: Pick<Reader, 'read'>; signal: AbortSignal }>;

/** JSON-RPC that runs; `ended` settles when it can follow the log no more. */
export type Evm = ServedRpc & Readonly<{ ended: Promise<void> }>;

/** Serves the JSON-RPC of the chain of the log: its blocks from their read model, its states from their store. */
export async function startEvm(options: EvmOptions): Promise<Evm> {
  const { log, access, signal, version, gasCap, readThreads: threads, callTimeoutMs: timeoutMs } = options;
  const { config } = access;
  const forks = createForks(config);
  const reads = createStateReads({ access, threads, timeoutMs });
  const blocks = readModelBlocks({ reader: options.reader, reads, forks });
  const started = Promise.withResolvers<void>();
  const news = new News(started.promise);
  const { pool, settle, ended } = openPool({ log, config, forks, blocks, reads, news, logger: options.logger, signal });
  const enabled = new Set(options.namespaces);
  const context = { config, forks, blocks, reads, pool, gasCap, version, enabled, news, forgetsStates: true };
  const served = await serveRpc(context, options).catch(async (caught: unknown) => {
    await reads.close();
    throw caught;
  });
  const following = followBlocks(log, blocks, {
    started: started.resolve,
    told: async (head) => {
      settle(head.transactions === 0 ? [] : (await blocks.outline(head)).transactions);
      await news.tellBlock(head, contentsOf(blocks));
    },
    signal,
  });
  return {
    ...served,
    ended: Promise.all([ended, following]).then(() => undefined),
    stop: async () => {
      await served.stop();
      await reads.close();
    },
  };
}
