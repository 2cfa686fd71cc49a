import type { VM } from '@ethereumjs/vm';
import type { State } from './state.ts';

type Handler = (...given: readonly unknown[]) => unknown;

/** JUMP and JUMPI: whatever runs for long without a read of the state comes by them again and again. */
const jumps = [0x56, 0x57] as const;

/**
 * Lets each jump call the state's guard, so that a loop which reads nothing can be ended as well.
 *
 * The library offers no hook for that: a listener to its steps makes each of them several times as slow.
 */
export function guardJumps({ evm }: VM, state: State): void {
  const map: unknown = Reflect.get(evm, '_opcodeMap');
  if (!Array.isArray(map)) throw new Error('The library keeps its instructions elsewhere');
  for (const jump of jumps) {
    const entry = map[jump] as { opHandler: Handler };
    const { opHandler } = entry;
    entry.opHandler = (...given) => {
      state.checkGuard();
      return opHandler(...given);
    };
  }
}
