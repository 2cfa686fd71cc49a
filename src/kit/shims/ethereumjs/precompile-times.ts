/** @ethereumjs/evm 10.1.3 runs its built-in contracts in JavaScript, in one go: what their gas pays takes minutes. */
import type { PrecompileFunc, PrecompileInput } from '@ethereumjs/evm';
import type { VM } from '@ethereumjs/vm';

/** Milliseconds of one call; 0 where its gas does not pay it. */
type ExpectedMs = (input: Pick<PrecompileInput, 'data' | 'gasLimit'>) => number;

const word = (data: Uint8Array, at: number): bigint =>
  BigInt(
    `0x${Buffer.from(data.subarray(at, at + 32))
      .toString('hex')
      .padEnd(64, '0')}`,
  );
const each =
  (bytes: number, ms: number): ExpectedMs =>
  ({ data }) =>
    Math.floor(data.length / bytes) * ms;

/** The library shifts the complete exponent for each of its bits: the time grows with the square of its length. */
const modularPower: ExpectedMs = ({ data, gasLimit }) => {
  const [base, exponent, modulus] = [0, 32, 64].map((at) => Number(word(data, at))) as [number, number, number];
  const products = Math.ceil(Math.max(base, modulus) / 8) ** 2;
  const bits = Math.max(exponent - 32, 0) * 8;
  // Of two empty numbers nothing is computed, whatever the exponent.
  if (products === 0) return 0;
  return (bits * products) / 3 > gasLimit ? 0 : bits * (4e-4 + exponent * 1e-7 + products * 3e-6);
};

const rounds: ExpectedMs = ({ data, gasLimit }) => {
  const wanted = word(data, 0) >> 224n;
  return wanted > gasLimit ? 0 : Number(wanted) * 7e-4;
};

/** By address; measured on one core, where the machine was busy as well. Of the others none takes a millisecond. */
const expectedMs: ReadonlyMap<bigint, ExpectedMs> = new Map([
  [0x5n, modularPower],
  [0x7n, () => 4],
  [0x8n, each(192, 14)],
  [0x9n, rounds],
  [0xan, () => 10],
  [0xcn, each(160, 6)],
  [0xen, each(288, 14)],
  [0xfn, each(384, 14)],
  [0x10n, () => 5],
  [0x11n, () => 20],
]);

/**
 * Lets each costly call of a machine's built-in contracts call `guard` first, with the time that it will take; the
 * guard may throw, for nothing can end the call once it runs.
 */
export function guardPrecompiles({ evm }: VM, guard: (ms: number) => void): void {
  const { precompiles } = evm;
  if (!(precompiles instanceof Map)) throw new Error('The library keeps its built-in contracts elsewhere');
  const own: Map<string, PrecompileFunc> = precompiles;
  for (const [address, run] of own) {
    const expected = expectedMs.get(BigInt(`0x${address}`));
    if (expected)
      own.set(address, (input) => {
        guard(expected(input));
        return run(input);
      });
  }
}
