/** @ethereumjs/evm 10.1.3 keeps these parts of its machine private; each shim fails loudly once its part has moved. */
import type { Block } from '@ethereumjs/block';
import { type Common, Mainnet } from '@ethereumjs/common';
import type { PrecompileFunc, PrecompileInput } from '@ethereumjs/evm';
import type { VM } from '@ethereumjs/vm';

type Handler = (...input: readonly unknown[]) => unknown;
type Precompiles = ReadonlyMap<string, PrecompileFunc>;

/** JUMP and JUMPI: whatever runs for long without a read of the state comes by them again and again. */
const jumps = [0x56, 0x57] as const;

/**
 * Lets each jump of a machine call `guard` first, which may throw, so that a loop which reads nothing can be ended.
 *
 * The library offers no hook for that: a listener to its steps makes each of them several times as slow.
 */
export function guardJumps({ evm }: VM, guard: () => void): void {
  const map: unknown = Reflect.get(evm, '_opcodeMap');
  if (!Array.isArray(map)) throw new Error('The library keeps its instructions elsewhere');
  for (const jump of jumps) {
    const entry = map[jump] as { opHandler: Handler };
    const { opHandler } = entry;
    entry.opHandler = (...input) => {
      guard();
      return opHandler(...input);
    };
  }
}

/** The block that a contract outside of the machine is called in, which the library does not pass to it. */
export function blockOf({ _EVM }: PrecompileInput): Block {
  const block: unknown = Reflect.get(_EVM, '_block');
  if (!(block instanceof Object)) throw new Error('The library keeps its block elsewhere');
  return block as Block;
}

/** Calls go by the second map; which addresses are warm does not change, so the entries stay those of the fork. */
class Redirected extends Map<string, PrecompileFunc> {
  readonly #called: Precompiles;

  constructor(original: Precompiles, called: Precompiles) {
    super(original);
    this.#called = called;
  }

  override get(address: string): PrecompileFunc | undefined {
    return this.#called.get(address);
  }
}

/** Gives a machine other built-in contracts, by hex digits of addresses; returns what undoes it. */
export function usePrecompiles({ evm }: VM, called: Precompiles): () => void {
  const original = evm.precompiles;
  Reflect.set(evm, '_precompiles', new Redirected(original, called));
  return () => void Reflect.set(evm, '_precompiles', original);
}

/** Address of the deposit contract (EIP-6110): the chain's own where its parameters name one, else Mainnet's. */
export function depositContractOf(common: Common): string | undefined {
  const parameters: unknown = Reflect.get(common, '_chainParams');
  const own: unknown = parameters instanceof Object ? Reflect.get(parameters, 'depositContractAddress') : undefined;
  return (typeof own === 'string' ? own : Mainnet.depositContractAddress)?.toLowerCase();
}
