import { createBlock } from '@ethereumjs/block';
import { Common, Hardfork, Mainnet } from '@ethereumjs/common';
import { createMPT } from '@ethereumjs/mpt';
import { Caches } from '@ethereumjs/statemanager';
import { createLegacyTx } from '@ethereumjs/tx';
import { createAccount, createAddressFromString, hexToBytes } from '@ethereumjs/util';
import { createVM, runTx } from '@ethereumjs/vm';
import { expect, test } from 'vitest';
import { sentBy, withHash, withHeader } from '../../../../src/kit/shims/ethereumjs/pretended.ts';
import { SendingState } from '../../../../src/kit/shims/ethereumjs/sending-state.ts';

const common = new Common({ chain: Mainnet, hardfork: Hardfork.Prague });
const sender = createAddressFromString(`0x${'12'.repeat(20)}`);
const block = createBlock(
  { header: { number: 7, gasLimit: 30_000_000n, baseFeePerGas: 1000n } },
  { common, skipConsensusFormatValidation: true },
);
const free = withHeader(block, { baseFeePerGas: { value: 0n } });
const transaction = (gasPrice = 0n) =>
  createLegacyTx({ to: sender, gasLimit: 50_000n, gasPrice, v: 27n, r: 0n, s: 0n }, { common, freeze: false });

async function world() {
  const trie = await createMPT({ common, useKeyHashing: true });
  const state = new SendingState({ common, trie, caches: new Caches() });
  await state.putAccount(sender, createAccount({ balance: 10n ** 18n }));
  return { state, vm: await createVM({ common, stateManager: state }) };
}

test('the library runs only what is signed, and takes a named sender for one who signed', async () => {
  const { vm } = await world();
  const options = { block: free, skipHardForkValidation: true };
  await expect(runTx(vm, { ...options, tx: transaction() })).rejects.toThrow();
  const { totalGasSpent } = await runTx(vm, { ...options, tx: sentBy(transaction(), sender) });
  expect(totalGasSpent).toBe(21_000n);
});

test('the library asks for the base fee of a block, and a view of it has another one', async () => {
  const { vm } = await world();
  const options = { tx: sentBy(transaction(), sender), skipHardForkValidation: true };
  await expect(runTx(vm, { ...options, block })).rejects.toThrow(/base fee|baseFee/i);
  await runTx(vm, { ...options, block: free });
  expect([free.header.baseFeePerGas, block.header.baseFeePerGas, free.header.number]).toEqual([0n, 1000n, 7n]);
});

test('the library computes the hash of a block, and a view of it has a known one', () => {
  const hash = new Uint8Array(32).fill(9);
  expect(withHash(block, hash).hash()).toEqual(hash);
  expect(block.hash()).not.toEqual(hash);
});

test('the library refuses senders that have code, and asks for the code once, before all else', async () => {
  const { state, vm } = await world();
  await state.putCode(sender, hexToBytes('0x00'));
  const options = { block: free, skipHardForkValidation: true };
  const run = () => runTx(vm, { ...options, tx: sentBy(transaction(), sender), skipNonce: true });
  await expect(run()).rejects.toThrow(/EOA|3607|code/i);
  await state.withSender(sender, run);
  expect(await state.getCode(sender)).toEqual(hexToBytes('0x00'));
  await expect(run()).rejects.toThrow(/EOA|3607|code/i);
});
