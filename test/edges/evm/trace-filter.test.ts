import { createFeeMarket1559Tx } from '@ethereumjs/tx';
import { bytesToHex, hexToBytes } from '@ethereumjs/util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { networkChain } from '../../../src/edges/evm/executor/state/genesis.ts';
import { createForks } from '../../../src/edges/evm/executor/forks.ts';
import { fundedKey, type SealingChain, startSealingChain } from '../../support/chains/sealing-chain.ts';

let chain: SealingChain;
beforeAll(async () => {
  // Thousands of calls are traced, beside other tests.
  chain = await startSealingChain({ namespaces: ['eth', 'trace'], callMs: 60_000 });
});
afterAll(async () => await chain.stop());

async function ask(method: string, ...params: readonly unknown[]): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const response = await fetch(chain.url, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
  const { result, error } = (await response.json()) as { result?: unknown; error?: unknown };
  return error ?? result;
}

const callee = `0x${'beef'.padStart(40, '0')}`;
const config = networkChain({ chainId: 76857769, seconds: 1_700_000_000, accounts: {} });
const common = createForks(config).at({ number: 1n, timestamp: 1_700_000_001n });

/** Calls an account so many times, each time with so many bytes; returns the block's number. */
async function calls(nonce: bigint, times: number, bytes: number): Promise<unknown> {
  const [count, size] = [times.toString(16).padStart(4, '0'), bytes.toString(16).padStart(6, '0')];
  const data = hexToBytes(`0x61${count}5b600190035f5f62${size}5f61beef5afa5080600357`);
  const fees = { maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 1n, gasLimit: 20_000_000n };
  const tx = createFeeMarket1559Tx({ ...fees, nonce, data }, { common }).sign(hexToBytes(fundedKey));
  const hash = await ask('eth_sendRawTransaction', bytesToHex(tx.serialize()));
  await chain.seal();
  return ((await ask('eth_getTransactionReceipt', hash)) as { blockNumber: unknown }).blockNumber;
}

test('trace_filter gives 10,000 calls at most, and any of them by pages', async () => {
  const block = await calls(0n, 2_501, 0);
  for (const nonce of [1n, 2n, 3n]) await calls(nonce, 2_500, 0);
  const wanted = { fromBlock: block, toBlock: 'latest', toAddress: [callee] };
  expect(await ask('trace_filter', wanted)).toMatchObject({
    code: -32602,
    message: expect.stringContaining('more than 10000 results'),
  });
  const all = (await ask('trace_filter', { ...wanted, count: 10_000 })) as readonly { traceAddress: unknown }[];
  expect(all).toHaveLength(10_000);
  expect(await ask('trace_filter', { ...wanted, after: 9_999, count: 1 })).toEqual(all.slice(-1));
  expect(await ask('trace_filter', { ...wanted, after: 10_000 })).toMatchObject([{ traceAddress: [2_499] }]);
  expect(await ask('trace_filter', { ...wanted, after: 10_001 })).toEqual([]);
  expect(await ask('trace_filter', { ...wanted, count: 0 })).toEqual([]);
});

test('trace_filter gives 9,000,000 bytes of data at most', async () => {
  const block = await calls(4n, 5, 2_000_000);
  const wanted = { fromBlock: block, toBlock: block, toAddress: [callee] };
  expect(await ask('trace_filter', wanted)).toMatchObject({
    code: -32602,
    message: expect.stringContaining('more than 9000000 bytes'),
  });
  expect(await ask('trace_filter', { ...wanted, count: 4 })).toHaveLength(4);
});
