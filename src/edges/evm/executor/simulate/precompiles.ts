import type { PrecompileFunc } from '@ethereumjs/evm';
import type { VM } from '@ethereumjs/vm';
import { executionCodes, ExecutionError } from '../execution-error.ts';
import type { StateOverrides } from '../overrides.ts';
import { simulationCodes } from './plan.ts';

/**
 * The built-in contracts of a simulation, some at other addresses.
 *
 * Which addresses are warm does not change with that, so the entries stay those of the fork.
 */
class Moved extends Map<string, PrecompileFunc> {
  readonly #now: ReadonlyMap<string, PrecompileFunc>;

  constructor(original: ReadonlyMap<string, PrecompileFunc>, now: ReadonlyMap<string, PrecompileFunc>) {
    super(original);
    this.#now = now;
  }

  override get(address: string): PrecompileFunc | undefined {
    return this.#now?.get(address);
  }
}

const keyOf = (address: string): string => address.toLowerCase().slice(2);

/** What a simulation has done to the built-in contracts so far. */
export class Precompiles {
  readonly #changes = new Map<string, PrecompileFunc | undefined>();

  /** Applies the moves of one block and lets its machine use the contracts as they are then. */
  apply(vm: VM, overrides: StateOverrides): void {
    const original = vm.evm.precompiles;
    const now = new Map(original);
    const change = (key: string, contract: PrecompileFunc | undefined): void => {
      this.#changes.set(key, contract);
      if (contract) now.set(key, contract);
      else now.delete(key);
    };
    for (const [key, contract] of this.#changes) change(key, contract);
    const overridden = new Set(Object.keys(overrides).map((address) => keyOf(address)));
    const targets = new Set<string>();
    for (const [address, { movePrecompileToAddress: to }] of Object.entries(overrides)) {
      const contract = now.get(keyOf(address));
      if (to !== undefined) {
        if (!contract) throw new ExecutionError(executionCodes.failed, `account ${address} is not a precompile`);
        if (keyOf(to) === keyOf(address))
          throw new ExecutionError(simulationCodes.movedOntoItself, `account ${address} is moved onto itself`);
        if (targets.has(keyOf(to)) || overridden.has(keyOf(to)))
          throw new ExecutionError(simulationCodes.movedTwice, `account ${to} is already overridden`);
        targets.add(keyOf(to));
        change(keyOf(to), contract);
      }
      if (contract) change(keyOf(address), undefined);
    }
    Reflect.set(vm.evm, '_precompiles', new Moved(original, now));
  }
}
