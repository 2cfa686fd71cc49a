import { createFeeMarket1559TxFromRLP } from '@ethereumjs/tx';
import { bytesToHex, hexToBytes } from '@ethereumjs/util';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createForks } from '../../../src/edges/evm/executor/forks.ts';
import { networkChain } from '../../../src/edges/evm/executor/state/genesis.ts';
import { until } from '../../support/polling.ts';
import { funded, fundedKey, type SealingChain, startSealingChain } from '../../support/chains/sealing-chain.ts';

type Hex = `0x${string}`;
type Filled = Readonly<{ raw: Hex; tx: Readonly<Record<string, unknown>> }>;
type Receipt = Readonly<{ blockHash: Hex; contractAddress: Hex | null; status: string }>;

let chain: SealingChain;
beforeAll(async () => {
  chain = await startSealingChain({ namespaces: ['eth', 'debug'] });
});
afterAll(async () => await chain.stop());

async function ask<T = unknown>(method: string, ...params: readonly unknown[]): Promise<T> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const response = await fetch(chain.url, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
  const { result, error } = (await response.json()) as { result?: unknown; error?: unknown };
  return (error ?? result) as T;
}

const config = networkChain({ chainId: 76857769, seconds: 1_700_000_000, accounts: {} });
const common = createForks(config).at({ number: 1n, timestamp: 1_700_000_001n });

/** Signs what was filled, sends it, and waits for its receipt. */
async function sent({ raw }: Filled): Promise<Receipt> {
  const tx = createFeeMarket1559TxFromRLP(hexToBytes(raw), { common }).sign(hexToBytes(fundedKey));
  const hash = await ask('eth_sendRawTransaction', bytesToHex(tx.serialize()));
  return await until(
    'the transaction is in a block',
    async () => (await ask<Receipt | null>('eth_getTransactionReceipt', hash)) ?? undefined,
  );
}

const word = (digits: string): Hex => `0x${digits.padStart(64, '0')}`;
const keyOf = (slot: string): Hex => bytesToHex(keccak_256(hexToBytes(word(slot))));
const valueOf = (digits: string) => ({ key: null, value: word(digits) });
/** Writes 5 and 6 to its first slots, and is code that writes 7 to the first of them. */
const creation = '0x60055f5560066001556360075f555f526004601cf3';

test('a transaction lacks nothing but a signature once it is filled, and slots are shown as each finds them', async () => {
  const filled = await ask<Filled>('eth_fillTransaction', { from: funded, data: creation });
  expect(filled.tx).toMatchObject({
    type: '0x2',
    nonce: '0x0',
    to: null,
    value: '0x0',
    chainId: '0x494c1a9',
    r: '0x0',
  });
  expect(Number(filled.tx['maxFeePerGas'])).toBeGreaterThan(Number(filled.tx['maxPriorityFeePerGas']));
  const { contractAddress: contract } = await sent(filled);
  const call = { from: funded, to: contract, maxPriorityFeePerGas: '0x5', gas: '0x30d40' };
  const second = await ask<Filled>('eth_fillTransaction', call);
  expect(second.tx).toMatchObject({ nonce: '0x1', gas: '0x30d40', maxPriorityFeePerGas: '0x5', to: contract });
  const { blockHash } = await sent(second);

  const both = { [keyOf('0')]: valueOf('5'), [keyOf('1')]: valueOf('6') };
  expect(await ask('debug_storageRangeAt', blockHash, 0, contract, '0x', 10)).toEqual({ storage: both, nextKey: null });
  const [first = '0x', last = '0x'] = [keyOf('0'), keyOf('1')].toSorted();
  expect(await ask('debug_storageRangeAt', blockHash, 0, contract, '0x', 1)).toEqual({
    storage: { [first]: both[first] },
    nextKey: last,
  });
  expect(await ask('debug_storageRangeAt', blockHash, 0, contract, last, 1)).toEqual({
    storage: { [last]: both[last] },
    nextKey: null,
  });
  const { blockHash: after } = await sent(await ask<Filled>('eth_fillTransaction', { from: funded, to: funded }));
  expect(await ask('debug_storageRangeAt', after, 0, contract, '0x', 10)).toMatchObject({
    storage: { ...both, [keyOf('0')]: valueOf('7') },
  });
  expect(await ask('debug_storageRangeAt', after, 0, `0x${'5b'.repeat(20)}`, '0x', 10)).toEqual({
    storage: {},
    nextKey: null,
  });
  expect(await ask('debug_storageRangeAt', after, 1, contract, '0x', 10)).toMatchObject({
    message: expect.stringContaining('transaction index 1 out of range'),
  });
});

test('what cannot be filled is refused in words', async () => {
  const refused = async (request: object) => await ask('eth_fillTransaction', request);
  expect(await refused({ from: funded })).toMatchObject({ message: 'contract creation without any data provided' });
  const fees = { maxFeePerGas: '0x1', maxPriorityFeePerGas: '0x2' };
  expect(await refused({ from: funded, to: funded, ...fees })).toMatchObject({
    message: 'maxFeePerGas (1) < maxPriorityFeePerGas (2)',
  });
  expect(await refused({ from: funded, to: funded, gasPrice: '0x1', maxFeePerGas: '0x1' })).toMatchObject({
    message: 'both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified',
  });
  expect(await refused({ from: funded, to: funded, chainId: '0x1' })).toMatchObject({ code: -32000 });
});
