import type { Common } from '@ethereumjs/common';
import { createBlock, type Block } from '@ethereumjs/block';
import type { Message } from '@ethereumjs/evm';
import { createVM, type VM } from '@ethereumjs/vm';
import { bytesToHex } from '@ethereumjs/util';
import { AppError } from '../../../kit/errors.ts';
import type { Genesis } from '../../../commands/ledger/chain.ts';
import { systemContracts } from '../contracts/system-contracts.ts';
import { guardJumps } from '../../../kit/shims/ethereumjs/machine.ts';
import { guardPrecompiles } from '../../../kit/shims/ethereumjs/precompile-times.ts';
import { withHash } from '../../../kit/shims/ethereumjs/pretended.ts';
import type { NodeStore, TrieDb } from './state/node-store.ts';
import { openState, type State } from './state/state.ts';

/** Where the BLOCKHASH instruction finds the blocks before. */
export type BlockHashes = Readonly<{ getBlock: (id: number | bigint | Uint8Array) => Promise<Block> }>;

/** A virtual machine of one fork with a state of its own, used by one caller at a time. */
export type Machine = Readonly<{
  vm: VM;
  state: State;
  /** Another of a fork over the same state, with the same system contracts. */
  vmOf: (common: Common) => Promise<VM>;
  /** Puts it at a stored state; what was read there before stays cached when it is there already. */
  at: (stateRoot: Uint8Array) => Promise<void>;
  /** Confirms that its writes are stored as this state. */
  stands: (stateRoot: Uint8Array) => void;
}>;

/**
 * Makes a machine; that takes six times as long as a call, so machines are used again.
 *
 * With the genesis of a ledger it has that ledger's system contracts. `at` fails with `UNAVAILABLE` when the state is
 * not in the store (yet).
 */
export async function createMachine(
  db: TrieDb,
  { common, blocks, ledger }: Readonly<{ common: Common; blocks: BlockHashes; ledger: Genesis | undefined }>,
): Promise<Machine> {
  const state = openState(db, common);
  const blockchain = { ...blocks, putBlock: () => Promise.resolve(), shallowCopy: () => blockchain };
  let called: Message | undefined;
  const contracts = ledger ? systemContracts(ledger, state, () => called) : [];
  const evmOpts = { customPrecompiles: [...contracts] };
  const vmOf = async (fork: Common): Promise<VM> => {
    const vm = await createVM({ common: fork, stateManager: state, blockchain, evmOpts });
    guardJumps(vm, () => state.checkGuard());
    guardPrecompiles(vm, (ms) => state.checkGuard(ms));
    if (ledger)
      vm.evm.events?.on('beforeMessage', (message, done) => {
        called = message;
        done?.();
      });
    return vm;
  };
  const vm = await vmOf(common);
  let root = '';
  return {
    vm,
    vmOf,
    state,
    at: async (stateRoot) => {
      const wanted = bytesToHex(stateRoot);
      if (wanted === root) return;
      root = '';
      await state.setStateRoot(stateRoot).catch((cause: unknown) => {
        throw new AppError('UNAVAILABLE', `State ${wanted} is not at hand`, { cause });
      });
      root = wanted;
    },
    stands: (stateRoot) => {
      root = bytesToHex(stateRoot);
    },
  };
}

/** Finds the hashes of earlier blocks among the headers of a store. */
export function storedHashes(nodes: NodeStore): BlockHashes {
  return {
    getBlock: async (id) => {
      if (id instanceof Uint8Array) throw new AppError('INTERNAL', 'Blocks are found by number here');
      const match = await nodes.header(BigInt(id));
      if (!match) throw new AppError('NOT_FOUND', `Block ${id} is not stored`);
      const hash = Buffer.from(match.hash.slice(2), 'hex');
      return withHash(createBlock({ header: { number: match.number } }), hash);
    },
  };
}
