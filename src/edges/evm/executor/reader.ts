import { type Block, createBlock } from '@ethereumjs/block';
import type { Common } from '@ethereumjs/common';
import { LRUCache } from 'lru-cache';
import { readHeader } from './blocks.ts';
import type { ExecutorOptions } from './executor.ts';
import { ExecutionError } from './execution-error.ts';
import { createForks, type Forks } from './forks.ts';
import type { ChainConfig } from './state/genesis.ts';
import { createMachine, type BlockHashes, type Machine, storedHashes } from './machine.ts';
import { createNodeCache, type NodeStore, TrieDb } from './state/node-store.ts';

/** A block at whose end something is read: RLP of its header. */
export type At = Uint8Array;

/** Where something runs: a machine at the state of a block, and the block. */
export type StatePosition = Readonly<{ machine: Machine; block: Block }>;

/** Reads the states of a chain, without ever changing one; one reading at a time. */
export type StateReader = Readonly<{
  config: ChainConfig;
  forks: Forks;
  nodes: NodeStore;
  blocks: BlockHashes;
  /** Lends a machine at the state of a block; what is written there is undone. */
  read: <T>(at: At, use: (position: StatePosition) => Promise<T>) => Promise<T>;
  /** A machine of its own, for what leaves more behind than can be undone. */
  machineAt: (at: At, common: Common, blocks?: BlockHashes) => Promise<Machine>;
  blockOf: (at: At) => Block;
}>;

const blocksInMemory = 64;

/** Makes a reader over the store of an executor. */
export function createReader({ config, nodes, cache = createNodeCache() }: ExecutorOptions): StateReader {
  const forks = createForks(config);
  const blocks = storedHashes(nodes);
  const idle = new Map<Common, Machine>();
  const known = new LRUCache<string, Block>({ max: blocksInMemory });
  const newMachine = (common: Common, hashes: BlockHashes): Promise<Machine> =>
    createMachine(new TrieDb(nodes, cache), { common, blocks: hashes, ledger: config.ledger });
  const blockOf = (at: At): Block => {
    const key = Buffer.from(at).toString('base64');
    const block = known.get(key) ?? blockOfHeader(at);
    known.set(key, block);
    return block;
  };
  const blockOfHeader = (at: At): Block => {
    const header = readHeader(at, forks);
    return createBlock({ header }, { common: forks.withoutGasCap(header) });
  };
  return {
    config,
    forks,
    nodes,
    blocks,
    blockOf,
    machineAt: async (at, common, hashes = blocks) => {
      const machine = await newMachine(common, hashes);
      await machine.at(blockOf(at).header.stateRoot);
      return machine;
    },
    read: async (at, use) => {
      const block = blockOf(at);
      const common = forks.withoutGasCap(block.header);
      const machine = idle.get(common) ?? (await newMachine(common, blocks));
      idle.delete(common);
      await machine.at(block.header.stateRoot);
      const { journal } = machine.vm.evm;
      await journal.checkpoint();
      const giveBack = async (): Promise<void> => {
        await journal.revert();
        idle.set(common, machine);
      };
      try {
        const result = await use({ machine, block });
        await giveBack();
        return result;
      } catch (caught) {
        // After any other failure the machine's state is unknown.
        if (caught instanceof ExecutionError) await giveBack();
        throw caught;
      }
    },
  };
}
