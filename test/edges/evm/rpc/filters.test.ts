import { createFeeMarket1559Tx } from '@ethereumjs/tx';
import { bytesToHex, hexToBytes } from '@ethereumjs/util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createForks } from '../../../../src/edges/evm/executor/forks.ts';
import { networkChain } from '../../../../src/edges/evm/executor/state/genesis.ts';
import { Filters } from '../../../../src/edges/evm/rpc/filters.ts';
import { until } from '../../../support/polling.ts';
import { fundedKey, type SealingChain, startSealingChain } from '../../../support/chains/sealing-chain.ts';

let chain: SealingChain;
beforeAll(async () => {
  chain = await startSealingChain();
});
afterAll(async () => await chain.stop());

async function ask(method: string, params: readonly unknown[] = []): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const headers = { 'content-type': 'application/json' };
  const answer = (await (await fetch(chain.url, { method: 'POST', body, headers })).json()) as {
    result?: unknown;
    error?: { code: number };
  };
  return answer.error?.code ?? answer.result;
}

const config = networkChain({ chainId: 76857769, seconds: 1, accounts: {} });
const common = createForks(config).at({ number: 1n, timestamp: 1n });
let nonce = 0n;

/** Sends a transaction whose contract writes a log of 32 bytes while it is made, and waits for its block. */
async function log(tip: bigint): Promise<void> {
  const fees = { maxFeePerGas: 10_000_000_000n, maxPriorityFeePerGas: tip, gasLimit: 100_000n };
  const tx = createFeeMarket1559Tx({ chainId: 76857769n, nonce, data: '0x60206000a060006000f3', ...fees }, { common });
  nonce += 1n;
  const hash = await ask('eth_sendRawTransaction', [bytesToHex(tx.sign(hexToBytes(fundedKey)).serialize())]);
  await until('it is sealed', async () => (await ask('eth_getTransactionReceipt', [hash])) !== null, 10_000);
}

describe('filters', () => {
  test('collect logs and waiting transactions until they are read', { tags: ['S1.evm.filters'] }, async () => {
    const logs = await ask('eth_newFilter', [{}]);
    const others = await ask('eth_newFilter', [{ address: `0x${'11'.repeat(20)}` }]);
    const pending = await ask('eth_newPendingTransactionFilter');
    await log(1n);
    await log(1n);
    const collected = (await ask('eth_getFilterChanges', [logs])) as object[];
    expect(collected).toMatchObject([{ blockNumber: '0x1' }, { blockNumber: '0x2' }]);
    expect(await ask('eth_getLogs', [{ fromBlock: '0x1', toBlock: '0x2' }])).toEqual(collected);
    expect(await ask('eth_getFilterChanges', [logs])).toEqual([]);
    expect(await ask('eth_getFilterChanges', [others])).toEqual([]);
    expect(await ask('eth_getFilterChanges', [pending])).toHaveLength(2);
    expect(await ask('eth_getFilterLogs', [logs])).toMatchObject([{ blockNumber: '0x2' }]);
    for (const id of [logs, others, pending]) expect(await ask('eth_uninstallFilter', [id])).toBe(true);
  });

  test('beyond 200 of an address are refused, and none of them goes', { tags: ['S1.evm.filters'] }, async () => {
    const ids = await Promise.all(Array.from({ length: 200 }, () => ask('eth_newBlockFilter')));
    expect(await ask('eth_newBlockFilter')).toBe(-32005);
    await chain.seal();
    for (const id of ids) expect(await ask('eth_getFilterChanges', [id])).toHaveLength(1);
    expect(await ask('eth_uninstallFilter', [ids[0]])).toBe(true);
    expect(await ask('eth_newBlockFilter')).toMatch(/^0x[1-9a-f]/);
  });

  test('are bounded by caller and by bytes, and forgotten unread', { tags: ['S1.evm.filters'] }, async () => {
    const filters = new Filters({ ofCaller: 1, ofAll: 3, bytesOfCaller: 2_000, idleMs: 50 });
    const adding: ((change: unknown) => void)[] = [];
    let ended = 0;
    const begin = (add: (change: unknown) => void) => {
      adding.push(add);
      return () => void (ended += 1);
    };
    const id = filters.add('a', { begin });
    expect(() => filters.add('a', { begin })).toThrow('too many filters');
    const other = filters.add('b', { begin });
    for (const add of adding) add({ data: '0x01' });
    adding[0]?.({ data: 'x'.repeat(2_000) });
    expect(() => filters.changes(id)).toThrow('make a new one');
    expect(() => filters.changes(id)).toThrow('filter not found');
    expect(filters.changes(other)).toEqual([{ data: '0x01' }]);
    filters.add('a', { begin });
    await until('all are forgotten', () => Promise.resolve(ended === 3), 10_000);
    expect(() => filters.changes(other)).toThrow('filter not found');
  });
});

test('the suggested tip is what others bid', { tags: ['S1.evm.tips'] }, async () => {
  const before = BigInt(String(await ask('eth_maxPriorityFeePerGas')));
  for (let count = 0; count < 4; count += 1) await log(2_000_000_000n);
  expect(before).toBe(1n);
  expect(BigInt(String(await ask('eth_maxPriorityFeePerGas')))).toBe(2_000_000_000n);
  const [price, base] = [await ask('eth_gasPrice'), await ask('eth_baseFee')].map((one) => BigInt(String(one)));
  expect((price ?? 0n) - (base ?? 0n)).toBe(2_000_000_000n);
});
