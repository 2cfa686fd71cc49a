import { Common, Hardfork, Mainnet } from '@ethereumjs/common';
import { createAddressFromString, createZeroAddress } from '@ethereumjs/util';
import { createVM, type VM } from '@ethereumjs/vm';
import { expect, test } from 'vitest';
import { guardPrecompiles } from '../../../../src/kit/shims/ethereumjs/precompile-times.ts';

const common = new Common({ chain: Mainnet, hardfork: Hardfork.Prague });
const gasLimit = 30_000_000n;

/** The times that the guard was told of a call; the call runs where none of them is a second. */
async function timesOf(to: number, data: Uint8Array, gas = gasLimit): Promise<number[]> {
  const vm: VM = await createVM({ common });
  const times: number[] = [];
  guardPrecompiles(vm, (ms) => {
    times.push(ms);
    if (ms >= 1000) throw new Error('It takes too long');
  });
  const address = createAddressFromString(`0x${to.toString(16).padStart(40, '0')}`);
  await vm.evm.runCall({ caller: createZeroAddress(), to: address, data, gasLimit: gas }).catch(() => undefined);
  return times;
}

const word = (value: number): Uint8Array => Buffer.from(value.toString(16).padStart(64, '0'), 'hex');
const power = (base: number, exponent: number, modulus: number): Uint8Array =>
  Buffer.concat([...[base, exponent, modulus].map(word), Buffer.alloc(base + exponent + modulus, 3)]);

test.each([
  ['a power by an exponent of a megabyte', 0x5, power(1, 1_000_000, 1)],
  ['24 million rounds', 0x9, Buffer.concat([Buffer.from('016e3600', 'hex'), Buffer.alloc(208), Buffer.from([1])])],
  ['2,000 products on G1', 0xc, Buffer.alloc(2_000 * 160)],
  ['1,000 products on G2', 0xe, Buffer.alloc(1_000 * 288)],
  ['500 pairings', 0xf, Buffer.alloc(500 * 384)],
  ['700 pairings of the older curve', 0x8, Buffer.alloc(700 * 192)],
])('a call is known to take seconds before it runs: %s', async (_, to, data) => {
  expect(Math.max(...(await timesOf(to, data)))).toBeGreaterThan(2_000);
});

test.each([
  ['a signature of RSA', 0x5, power(256, 256, 256)],
  ['a power of nothing by an exponent of a megabyte', 0x5, power(0, 1_000_000, 0)],
  ['twelve rounds', 0x9, Buffer.concat([Buffer.from('0000000c', 'hex'), Buffer.alloc(208), Buffer.from([1])])],
  ['four pairings', 0x8, Buffer.alloc(4 * 192)],
])('a usual call takes little: %s', async (_, to, data) => {
  expect(Math.max(...(await timesOf(to, data)))).toBeLessThan(100);
});

test.each([
  ['a power', 0x5, power(1, 1_000_000, 1)],
  ['a power of lengths that nothing pays', 0x5, Buffer.alloc(96, 0xff)],
  ['rounds', 0x9, Buffer.concat([Buffer.from('016e3600', 'hex'), Buffer.alloc(208), Buffer.from([1])])],
])('what the gas does not pay takes no time: %s', async (_, to, data) => {
  expect(await timesOf(to, data, 10_000n)).toEqual([0]);
});

test('the library keeps no built-in contract where the guard does not reach it', async () => {
  const costly = [0x5, 0x7, 0x8, 0x9, 0xa, 0xc, 0xe, 0xf, 0x10, 0x11];
  for (const to of costly) expect(await timesOf(to, new Uint8Array(), 0n)).toHaveLength(1);
  for (const to of [0x1, 0x2, 0x3, 0x4, 0x6, 0xb, 0xd]) expect(await timesOf(to, new Uint8Array())).toEqual([]);
});
