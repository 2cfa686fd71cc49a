/** What go-ethereum calls the library's errors, where it calls them something else. */
const texts: Readonly<Record<string, string>> = {
  revert: 'execution reverted',
  // The library runs what is not defined as this one.
  'invalid opcode': 'invalid opcode: INVALID',
  'code store out of gas': 'contract creation code storage out of gas',
  'code size to deposit exceeds maximum code size': 'max code size exceeded',
  'create collision': 'contract address collision',
  'initcode exceeds max initcode size': 'max initcode size exceeded',
  'invalid bytecode deployed': 'invalid code: must not begin with 0xef',
  'stack overflow': 'stack limit reached 1024 (1023)',
  'static state change': 'write protection',
  'value out of range': 'return data out of bounds',
  'refund exhausted': 'out of gas',
};

const [sstore, returning] = [0x55, 0xf3];
/** What SSTORE leaves at least (EIP-2200). */
const sentryGas = 2300n;
/** Words of errors of the library's own precompiles. */
const badInput = /^(?:point not on curve|input is empty|.* not in field|kzg )/;

/** The instruction that ran last: its code, 0 to 255, the gas before it, and what it costs. */
export type LastStep = Readonly<{ code: number; gasLeft: bigint; fee: bigint }>;

/**
 * An error of the machine in go-ethereum's words. Of a wrong jump the library also names the code, which is of no use.
 * `isCreation` is whether a contract was being created.
 */
export function errorText(error: string, { code, gasLeft, fee }: LastStep, isCreation: boolean): string {
  if (error.startsWith('invalid JUMP')) return 'invalid jump destination';
  if (error === 'out of gas' && code === sstore && gasLeft <= sentryGas)
    return 'out of gas: not enough gas for reentrancy sentry';
  // What RETURN itself could pay for was the code that could not be stored.
  if (error === 'out of gas' && isCreation && code === returning && fee <= gasLeft)
    return 'contract creation code storage out of gas';
  return badInput.test(error) ? 'precompiled contract failed' : (texts[error] ?? error);
}

const parityTexts: readonly (readonly [start: string, text: string])[] = [
  ['contract creation code storage out of gas', 'Out of gas'],
  ['out of gas', 'Out of gas'],
  ['max code size exceeded', 'Out of gas'],
  ['invalid jump destination', 'Bad jump destination'],
  ['execution reverted', 'Reverted'],
  ['return data out of bounds', 'Out of bounds'],
  ['stack limit reached', 'Out of stack'],
  ['stack underflow', 'Stack underflow'],
  ['invalid opcode', 'Bad instruction'],
  ['precompiled contract failed', 'Built-in failed'],
  ['invalid input length', 'Built-in failed'],
  ['write protection', 'Mutable Call In Static Context'],
];

/** The same in OpenEthereum's words. */
export const parityText = (error: string): string =>
  parityTexts.find(([start]) => error.startsWith(start))?.[1] ?? error;
