import { type BlockHeader, createBlock } from '@ethereumjs/block';
import { bytesToHex } from '@ethereumjs/util';
import { runBlock } from '@ethereumjs/vm';
import { AppError, passes, toAppError } from '../../../kit/errors.ts';
import { readBlock, readHeader, storedHeader } from './blocks.ts';
import { createForks, type Forks } from './forks.ts';
import { type ChainConfig, genesisState } from './state/genesis.ts';
import { createMachine, type Machine, storedHashes } from './machine.ts';
import { createNodeCache, type NodeCache, type NodeStore, TrieDb } from './state/node-store.ts';
import { executedTransaction, type Hex, nothingReported, type Outcome } from './outcome.ts';
import { type Attributes, difference, type ExecutedBlock, type Item, sealBlock } from './sealing.ts';

/** A block that was executed; its state is stored by `commit`, and nowhere before. */
export type UncommittedBlock = Readonly<{
  number: bigint;
  hash: Hex;
  /** RLP of the header. */
  header: Uint8Array;
  /** RLP of the complete block, of EVM transactions only. */
  block: Uint8Array;
  /** The outcome of each item. */
  outcomes: readonly Outcome[];
  /** Stores the state and the header. Fails with `CONFLICT` when another block is stored at that height. */
  commit: () => Promise<void>;
}>;

/** A block to execute again: with the items that it was made of, or without them where it contains them all. */
export type Applied = Readonly<{ block: Uint8Array; items?: readonly Item[] }>;

/** Executes blocks of one chain, one after the other. */
export type Executor = Readonly<{
  forks: Forks;
  /** The first block, of the genesis alone. */
  genesis: () => Promise<UncommittedBlock>;
  /**
   * Executes items on top of a block (RLP of its header, whose state must be stored) and makes a block of them.
   *
   * A block that is not committed leaves nothing behind; at most one block is under way at a time.
   */
  seal: (parent: Uint8Array, attributes: Attributes, items: readonly Item[]) => Promise<UncommittedBlock>;
  /** Executes a block again. Fails with `CONFLICT` when the result has another hash than the block. */
  apply: (parent: Uint8Array, block: Applied) => Promise<UncommittedBlock>;
  /** Drops what is remembered of the store, which has lost blocks that it had. */
  forget: () => void;
}>;

/** A machine remembers what it reads and writes: after so many blocks a new one replaces it. */
const blocksPerMachine = 2_000;

/** What executors of one process may share: nodes in memory. */
export type ExecutorOptions = Readonly<{ config: ChainConfig; nodes: NodeStore; cache?: NodeCache }>;

/**
 * Makes an executor of a chain over a store of its state.
 *
 * @example
 * const executor = createExecutor({ config, nodes: openPostgresNodes(postgres, network) });
 * const first = await executor.genesis();
 * await first.commit();
 * const next = await executor.seal(first.header, attributes, [{ kind: 'transaction', raw }]);
 */
export function createExecutor({ config, nodes, cache = createNodeCache() }: ExecutorOptions): Executor {
  const forks = createForks(config);
  const db = new TrieDb(nodes, cache);
  const blocks = storedHashes(nodes);
  let [machine, turns]: [Machine | undefined, number] = [undefined, 0];
  const machineAt = async (header: BlockHeader, parent: BlockHeader): Promise<Machine> => {
    const common = forks.at(header);
    if (machine?.vm.common !== common || turns++ % blocksPerMachine === 0)
      machine = await createMachine(db, { common, blocks, ledger: config.ledger });
    await machine.at(parent.stateRoot);
    return machine;
  };
  /** Runs something that writes; what it leaves in the machine is no state of the chain before it is committed. */
  const execute = async (header: BlockHeader, parent: BlockHeader, run: (on: Machine) => Promise<ExecutedBlock>) => {
    const on = await machineAt(header, parent);
    machine = undefined;
    db.takeDirty();
    return sealed(await run(on), on);
  };
  const sealed = ({ block, outcomes }: ExecutedBlock, on?: Machine): UncommittedBlock => {
    const dirty = db.takeDirty();
    const header = storedHeader(block.header);
    return {
      number: block.header.number,
      hash: bytesToHex(block.hash()),
      header: header.rlp,
      block: block.serialize(),
      outcomes,
      commit: async () => {
        await nodes.put({ nodes: dirty, header });
        db.remember(dirty);
        on?.stands(block.header.stateRoot);
        machine = on;
      },
    };
  };
  return {
    forks,
    forget: () => {
      machine = undefined;
      db.forget();
    },
    genesis: async () => sealed(await genesisBlock(config, forks, db)),
    seal: async (parentRlp, attributes, items) => {
      const parent = readHeader(parentRlp, forks);
      const next = createBlock({ header: { number: parent.number + 1n, timestamp: attributes.timestamp } });
      return await execute(next.header, parent, (on) => sealBlock(config, on, { parent, attributes, items }));
    },
    apply: async (parentRlp, { block: rlp, items }) => {
      const parent = readHeader(parentRlp, forks);
      const block = readBlock(rlp, forks);
      if (bytesToHex(block.header.parentHash) !== bytesToHex(parent.hash()))
        throw new AppError('CONFLICT', `Block ${block.header.number} follows another block than ${parent.number}`);
      if (!items) return await execute(block.header, parent, (on) => runComplete(on, block));
      return await execute(block.header, parent, async (on) =>
        sameAs(block, await sealBlock(config, on, { parent, attributes: attributesOf(block.header), items })),
      );
    },
  };
}

/** Returns the result of an execution where it is the expected block. */
function sameAs(block: ExecutedBlock['block'], executed: ExecutedBlock): ExecutedBlock {
  const wrong = difference(executed.block, block);
  if (wrong === undefined) return executed;
  throw new AppError('CONFLICT', `Block ${block.header.number} executes to something else: ${wrong}`);
}

const attributesOf = ({ timestamp, baseFeePerGas, gasLimit, coinbase, extraData }: BlockHeader): Attributes => ({
  timestamp,
  baseFee: baseFeePerGas ?? 0n,
  gasLimit,
  coinbase: coinbase.toString(),
  extraData,
});

/** A block of any fork, by the library's own verifier: rewards, uncles, withdrawals and all checks of roots. */
async function runComplete({ vm }: Machine, block: ExecutedBlock['block']): Promise<ExecutedBlock> {
  try {
    const { results } = await runBlock(vm, { block, skipHeaderValidation: true, clearCache: false });
    const outcomes = block.transactions.flatMap((tx, index): Outcome[] => {
      const result = results[index];
      if (!result) return [];
      return [
        {
          kind: 'executed',
          transaction: executedTransaction(tx, result, block.header),
          gasLimit: tx.gasLimit,
          touched: [],
          ...nothingReported,
        },
      ];
    });
    return { block, outcomes };
  } catch (caught) {
    if (passes(caught)) throw caught;
    const { message } = toAppError(caught);
    throw new AppError('CONFLICT', `Block ${block.header.number} does not execute as it says: ${message}`, {
      cause: caught,
    });
  }
}

async function genesisBlock(config: ChainConfig, forks: Forks, db: TrieDb): Promise<ExecutedBlock> {
  const position = { number: 0n, timestamp: BigInt(config.genesis.timestamp) };
  const common = forks.at(position);
  const noBlocks = { getBlock: () => Promise.reject(new Error('There is no block before the first')) };
  const { state } = await createMachine(db, { common, blocks: noBlocks, ledger: undefined });
  await state.generateCanonicalGenesis(genesisState(config.genesis));
  const stateRoot = await state.getStateRoot();
  const block = createBlock({ header: { ...common.genesis(), number: 0n, stateRoot } }, { common });
  return { block, outcomes: [] };
}
