import type { EvmExecution } from '../../../src/edges/ledger/evm-chain.ts';
import { createExecutor } from '../../../src/edges/evm/executor/executor.ts';
import type { ChainConfig } from '../../../src/edges/evm/executor/state/genesis.ts';
import { AppError } from '../../../src/kit/errors.ts';
import type { NodeStore, StoredHeader } from '../../../src/edges/evm/executor/state/node-store.ts';

/** A store that lives and ends with the process: for chains that are only looked at. */
export function createMemoryNodes(): NodeStore {
  const nodes = new Map<string, Uint8Array>();
  const headers: StoredHeader[] = [];
  return {
    get: (hash) => Promise.resolve(nodes.get(hash)),
    head: () => Promise.resolve(headers.at(-1)),
    header: (number) => Promise.resolve(headers[Number(number)]),
    put: async (batch) => {
      const { header } = batch;
      const known = headers[Number(header.number)];
      if (known?.hash === header.hash) return;
      if (known !== undefined || header.number !== BigInt(headers.length))
        throw new AppError('CONFLICT', `Block ${header.number} does not follow block ${headers.length - 1}`);
      for (const [hash, node] of batch.nodes) nodes.set(hash, node);
      headers.push(header);
      await Promise.resolve();
    },
  };
}

/** Executes in this thread, over a state that ends with the process: each start executes all blocks again. */
export function executeInMemory(config: ChainConfig): EvmExecution {
  const nodes = createMemoryNodes();
  const executor = createExecutor({ config, nodes });
  return { ...executor, head: nodes.head, forget: () => Promise.resolve(executor.forget()) };
}
