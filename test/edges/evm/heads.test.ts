import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { News } from '../../../src/edges/evm/chain/news.ts';
import { readModelBlocks } from '../../../src/edges/evm/chain/read-blocks.ts';
import { type ServedRpc, serveRpc } from '../../../src/edges/evm/rpc/serve-rpc.ts';
import { createStateReads } from '../../../src/edges/evm/workers/state-reads.ts';
import { createLogger } from '../../../src/kit/logger.ts';
import { loadReading } from '../../support/histories/load-projection.ts';
import { address, config, forks, unreadable, word } from './unreadable-blocks.ts';

let served: ServedRpc;
let loaded: Awaited<ReturnType<typeof loadReading>>;
beforeAll(async () => {
  loaded = await loadReading([unreadable(1), unreadable(2), unreadable(3)]);
  const access = { postgres: {}, network: 'none', config };
  const reads = createStateReads({ access, threads: 1, timeoutMs: 1_000 });
  const reader = { read: <T>(use: (reading: typeof loaded.reading) => Promise<T>) => use(loaded.reading) };
  const blocks = readModelBlocks({ reader, reads, forks });
  const pool = {
    submit: () => Promise.reject(new Error()),
    pending: () => [],
    queued: () => [],
    get: () => undefined,
    sealedNonce: () => 0n,
  };
  const context = { config, forks, blocks, reads, pool, news: new News(), gasCap: 1n, version: '0.0.0' };
  const logger = createLogger({ level: 'error', format: 'json' });
  const place = { host: '127.0.0.1', httpPort: 0, wsPort: 0, logger };
  served = await serveRpc({ ...context, enabled: new Set(['eth'] as const) }, place);
});
afterAll(async () => {
  await served.stop();
  await loaded.close();
});

async function ask(method: string, params: readonly unknown[] = []): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const headers = { 'content-type': 'application/json' };
  const answer = (await (await fetch(served.url, { method: 'POST', body, headers })).json()) as { result?: unknown };
  expect(answer, JSON.stringify(answer)).toHaveProperty('result');
  return answer.result;
}

describe('what needs only the head of a block', () => {
  test('reads no transaction: height, block, counts and fees', { tags: ['S1.evm.heads'] }, async () => {
    expect(await ask('eth_blockNumber')).toBe('0x3');
    expect(await ask('eth_getBlockByNumber', ['latest', false])).toMatchObject({
      number: '0x3',
      baseFeePerGas: '0x3b9aca00',
      transactions: [word(30), word(31)],
      withdrawals: [],
    });
    expect(await ask('eth_getBlockTransactionCountByNumber', ['0x2'])).toBe('0x2');
    expect(BigInt(String(await ask('eth_gasPrice')))).toBeGreaterThan(900_000_000n);
    expect(await ask('eth_feeHistory', ['0x2', 'latest', [0, 100]])).toMatchObject({
      oldestBlock: '0x2',
      reward: [
        ['0x5', '0xa'],
        ['0x5', '0xa'],
      ],
    });
  });

  test('nor do receipts and logs, which know their places in the block', { tags: ['S1.evm.heads'] }, async () => {
    const { hash } = (await ask('eth_getBlockByNumber', ['0x2', false])) as { hash: string };
    const log = { blockHash: hash, blockNumber: '0x2', transactionHash: word(21), data: '0x0102', removed: false };
    const logs = [
      { ...log, logIndex: '0x2', transactionIndex: '0x1', topics: [word(0)], blockTimestamp: '0x6553f102' },
      { ...log, logIndex: '0x3', transactionIndex: '0x1', topics: [word(1)], blockTimestamp: '0x6553f102' },
    ].map((one) => ({ ...one, address: address(1) }));
    const receipt = await ask('eth_getTransactionReceipt', [word(21)]);
    expect(receipt).toMatchObject({ gasUsed: '0x7530', cumulativeGasUsed: '0xea60', status: '0x1', logs });
    expect(await ask('eth_getBlockReceipts', ['0x2'])).toMatchObject([{ transactionHash: word(20) }, receipt]);
    expect(await ask('eth_getLogs', [{ blockHash: hash, address: address(1) }])).toEqual(logs);
    expect(await ask('eth_getLogs', [{ fromBlock: '0x1', toBlock: '0x3', topics: [word(1)] }])).toHaveLength(6);
  });
});
