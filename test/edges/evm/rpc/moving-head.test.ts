import { createFeeMarket1559Tx } from '@ethereumjs/tx';
import { bytesToHex, hexToBytes } from '@ethereumjs/util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createForks } from '../../../../src/edges/evm/executor/forks.ts';
import { networkChain } from '../../../../src/edges/evm/executor/state/genesis.ts';
import { until } from '../../../support/polling.ts';
import { fundedKey, type SealingChain, startSealingChain } from '../../../support/chains/sealing-chain.ts';

let chain: SealingChain;
/** Whether each read of the head finds that a block came right after it, and how often transactions were looked up. */
let isMoving = false;
let lookups = 0;

beforeAll(async () => {
  chain = await startSealingChain({
    otherwise: (blocks) => {
      const [head, ofTransaction] = [blocks.head.bind(blocks), blocks.ofTransaction.bind(blocks)];
      return {
        head: async () => {
          const current = await head();
          if (!isMoving) return current;
          isMoving = false;
          await chain.seal();
          isMoving = true;
          return current;
        },
        ofTransaction: async (hash) => {
          lookups += 1;
          return await ofTransaction(hash);
        },
      };
    },
  });
});
afterAll(async () => await chain.stop());

async function ask(method: string, params: readonly unknown[], signal?: AbortSignal): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(chain.url, { method: 'POST', body, headers, ...(signal && { signal }) });
  const answer = (await response.json()) as { result?: unknown; error?: { code: number; message: string } };
  return answer.error?.message ?? answer.result;
}

describe('while blocks are sealed', () => {
  test('eth_getLogs takes its words for one and the same block', { tags: ['S1.evm.codes'] }, async () => {
    isMoving = true;
    for (const tag of ['latest', 'pending', 'safe', 'finalized']) {
      expect(await ask('eth_getLogs', [{ fromBlock: tag }])).toEqual([]);
      expect(await ask('eth_getLogs', [{ fromBlock: tag, toBlock: tag }])).toEqual([]);
      expect(await ask('eth_getLogs', [{ fromBlock: '0x0', toBlock: tag }])).toEqual([]);
    }
    isMoving = false;
  });

  test('a transaction whose sender waits is looked up after each block, until the sender has gone', async () => {
    const common = createForks(networkChain({ chainId: 76857769, seconds: 1, accounts: {} })).at({
      number: 1n,
      timestamp: 1n,
    });
    const fees = { maxFeePerGas: 10_000_000_000n, maxPriorityFeePerGas: 1n, gasLimit: 21_000n };
    const to = `0x${'11'.repeat(20)}` as const;
    const sign = (nonce: bigint): string => {
      const tx = createFeeMarket1559Tx({ chainId: 76857769n, nonce, to, ...fees }, { common });
      return bytesToHex(tx.sign(hexToBytes(fundedKey)).serialize());
    };
    expect(await ask('eth_sendRawTransactionSync', [sign(0n)])).toMatchObject({ status: '0x1' });
    // viem writes the time in hex, others as a number.
    for (const time of ['0x1', 1]) {
      const answer = await ask('eth_sendRawTransactionSync', [sign(4n), time]);
      expect(answer).toBe('the transaction is in no block yet');
    }
    const leaving = new AbortController();
    lookups = 0;
    const waiting = ask('eth_sendRawTransactionSync', [sign(5n)], leaving.signal).catch(() => 'left');
    await until('it is looked up', () => lookups > 0);
    const before = lookups;
    await chain.seal();
    await until('it is looked up again', () => lookups > before);
    leaving.abort();
    expect(await waiting).toBe('left');
    await ask('eth_chainId', []);
    const atEnd = lookups;
    for (let sealed = 0; sealed < 20; sealed += 1) await chain.seal();
    expect(lookups).toBe(atEnd);
  });
});
