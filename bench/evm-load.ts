import { createFeeMarket1559Tx } from '@ethereumjs/tx';
import { bytesToHex, createAddressFromPrivateKey, hexToBytes } from '@ethereumjs/util';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { createForks } from '../src/edges/evm/executor/forks.ts';
import { type ChainConfig, networkChain } from '../src/edges/evm/executor/state/genesis.ts';
import type { Hex } from '../src/edges/evm/executor/outcome.ts';
import type { Item } from '../src/edges/evm/executor/sealing.ts';

const senders = 200;
/** Where the token lies. */
export const token: Hex = `0x${'70'.repeat(20)}`;
/** Seconds of the first block. */
export const beginning = 1_700_000_000n;

const chainId = 76_857_769;
const gwei = 1_000_000_000n;
/** What `transfer` and `balanceOf` of a token do: a mapping's slots, a check and a log; told apart by their length. */
const tokenCode =
  '0x36602414606057335f5260405f20805460243580821060715780910382556004355f5260405f208054820190555f52600435337fddf252ad' +
  '1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef60205fa360015f5260205ff35b6004355f5260405f20545f5260205ff3' +
  '5b5f5ffd';
const transferSelector = 'a9059cbb';
const balanceSelector = '70a08231';

const keys = Array.from({ length: senders }, (_, index) => {
  const key = new Uint8Array(32).fill(1);
  key.set([index % 256, Math.floor(index / 256) + 1]);
  return key;
});
const addresses: readonly Hex[] = keys.map((key) => createAddressFromPrivateKey(key).toString());
const word = (value: string): string => value.replace(/^0x/, '').padStart(64, '0');
const after = (index: number): Hex => addresses[(index + 1) % senders] ?? token;

/** The chain that is measured: every sender has coins and tokens. */
export function loadedChain(): ChainConfig {
  const slots = addresses.map((address) => bytesToHex(keccak_256(hexToBytes(`0x${word(address)}${word('')}`))));
  const storage = Object.fromEntries(slots.map((slot) => [slot, `0x${word('ffffffff')}`]));
  const people = addresses.map((address) => [address, { balance: '0xd3c21bcecceda1000000' }] as const);
  const contract = { balance: '0x0', nonce: '0x1', code: tokenCode, storage };
  return networkChain({
    chainId,
    seconds: Number(beginning),
    accounts: { ...Object.fromEntries(people), [token]: contract },
  });
}

/** A signed transaction of every sender, for one block: a transfer of coins to the next one, or of tokens. */
export function blockOfTransactions(config: ChainConfig, of: 'coins' | 'tokens', nonce: bigint): readonly Item[] {
  const common = createForks(config).at({ number: 1n, timestamp: beginning });
  return keys.map((key, index) => {
    const call = {
      to: token,
      gasLimit: 100_000n,
      data: `0x${transferSelector}${word(after(index))}${word('1')}` as Hex,
    };
    const what = of === 'coins' ? { to: after(index), value: 1n, gasLimit: 21_000n } : call;
    const fees = { maxFeePerGas: 100n * gwei, maxPriorityFeePerGas: gwei };
    const tx = createFeeMarket1559Tx({ chainId: BigInt(chainId), nonce, ...fees, ...what }, { common });
    return { kind: 'transaction', raw: tx.sign(key).serialize() };
  });
}

/** Data of a call that reads somebody's tokens. */
export const balanceCall = (index: number): Hex => `0x${balanceSelector}${word(addresses[index % senders] ?? '')}`;

/** How much is done in a second of processor time of this process, all its threads together. */
export async function perCpuSecond(count: number, work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (count / (user + system)) * 1_000_000;
}
