import type { VM } from '@ethereumjs/vm';
import { usePrecompiles } from '../../../../kit/shims/ethereumjs/machine.ts';
import { executionCodes, ExecutionError } from '../execution-error.ts';
import type { StateOverrides } from '../overrides.ts';
import { simulationCodes } from './plan.ts';

const keyOf = (address: string): string => address.toLowerCase().slice(2);

/**
 * Removes built-in contracts from overridden accounts, or moves them to another address where the request names one.
 *
 * Of two that move to the same address, the one of the higher address stays there. Returns a function that undoes it,
 * for a machine that is used again.
 */
export function movePrecompiles(vm: VM, overrides: StateOverrides): () => void {
  const original = vm.evm.precompiles;
  const now = new Map(original);
  const accounts = Object.entries(overrides).map(([address, input]) => ({
    address,
    key: keyOf(address),
    given: input,
  }));
  const pretended = new Set(accounts.map(({ key }) => key));
  for (const { address, key, given } of accounts.toSorted((one, other) => (one.key < other.key ? -1 : 1))) {
    const to = given.movePrecompileToAddress ?? given.MovePrecompileToAddress;
    const contract = original.get(key);
    if (contract) now.delete(key);
    if (to === undefined) continue;
    if (!contract) throw new ExecutionError(executionCodes.failed, `account ${address} is not a precompile`);
    if (keyOf(to) === key)
      throw new ExecutionError(simulationCodes.movedOntoItself, `account ${address} is moved onto itself`);
    if (pretended.has(keyOf(to)))
      throw new ExecutionError(executionCodes.failed, `account ${to} is already overridden`);
    now.set(keyOf(to), contract);
  }
  return usePrecompiles(vm, now);
}
