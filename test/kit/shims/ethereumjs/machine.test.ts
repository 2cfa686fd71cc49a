import { createBlock } from '@ethereumjs/block';
import { Common, createCustomCommon, Hardfork, Mainnet } from '@ethereumjs/common';
import type { PrecompileFunc, PrecompileInput } from '@ethereumjs/evm';
import { createAddressFromString, createZeroAddress, hexToBytes } from '@ethereumjs/util';
import { createVM, type VM } from '@ethereumjs/vm';
import { expect, test } from 'vitest';
import {
  blockOf,
  depositContractOf,
  guardJumps,
  usePrecompiles,
} from '../../../../src/kit/shims/ethereumjs/machine.ts';

const common = new Common({ chain: Mainnet, hardfork: Hardfork.Prague });
const at = (last: string) => createAddressFromString(`0x${last.padStart(40, '0')}`);
const block = createBlock({ header: { number: 7, timestamp: 1234 } }, { common, skipConsensusFormatValidation: true });

/** What a call of code, or of an address, came to. */
async function called(vm: VM, input: Readonly<{ code?: `0x${string}`; to?: string; data?: Uint8Array }>) {
  const { code = '0x', to, data = new Uint8Array() } = input;
  const caller = createZeroAddress();
  const run =
    to === undefined
      ? vm.evm.runCode({ code: hexToBytes(code), gasLimit: 100_000n })
      : vm.evm.runCall({ caller, to: at(to), data, block, gasLimit: 100_000n }).then(({ execResult }) => execResult);
  return await run;
}

test('the library keeps its instructions where the guard of jumps reaches them', async () => {
  const vm = await createVM({ common });
  let jumps = 0;
  guardJumps(vm, () => {
    jumps += 1;
    if (jumps === 5) throw new Error('It is enough');
  });
  await expect(called(vm, { code: '0x5b600056' })).rejects.toThrow('It is enough');
  expect(jumps).toBe(5);
  expect((await called(vm, { code: '0x600160020100' })).exceptionError).toBeUndefined();
  expect(jumps).toBe(5);
});

test('the library does not pass the block to a contract of ours, and its machine has it', async () => {
  const seen: PrecompileInput[] = [];
  const contract: PrecompileFunc = (input) => {
    seen.push(input);
    return { executionGasUsed: 0n, returnValue: new Uint8Array([Number(blockOf(input).header.number)]) };
  };
  const vm = await createVM({ common, evmOpts: { customPrecompiles: [{ address: at('901'), function: contract }] } });
  expect([...(await called(vm, { to: '901' })).returnValue]).toEqual([7]);
  expect(Object.keys(seen[0] ?? {})).not.toContain('block');
});

test('the library has no way to other built-in contracts than the table of its machine', async () => {
  const vm = await createVM({ common });
  const data = hexToBytes('0x0102');
  const key = (last: string) => last.padStart(40, '0');
  const identity = vm.evm.precompiles.get(key('4'));
  if (!identity) throw new Error('The library has no contract at 4');
  const before = [...vm.evm.precompiles.keys()];
  expect(Reflect.set(vm.evm, 'precompiles', new Map())).toBe(false);
  const undo = usePrecompiles(vm, new Map([[key('999'), identity]]));
  expect([...vm.evm.precompiles.keys()]).toEqual(before);
  expect((await called(vm, { to: '999', data })).returnValue).toEqual(data);
  expect((await called(vm, { to: '4', data })).returnValue).toHaveLength(0);
  undo();
  expect((await called(vm, { to: '4', data })).returnValue).toEqual(data);
});

test('the library names the deposit contract of a chain nowhere but among its parameters', () => {
  const own = `0x${'Ab'.repeat(20)}`;
  expect(depositContractOf(common)).toBe('0x00000000219ab540356cbb839cbe05303d7705fa');
  const chain = createCustomCommon({ chainId: 5, depositContractAddress: own as `0x${string}` }, Mainnet);
  expect(depositContractOf(chain)).toBe(own.toLowerCase());
  expect(Reflect.get(chain, 'depositContractAddress')).toBeUndefined();
});
