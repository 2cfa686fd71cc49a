import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fundedKey, type SealingChain, startSealingChain } from '../support/sealing-chain.ts';

const runFile = promisify(execFile);
const ether = '1000000000000000000';
let chain: SealingChain;
beforeAll(async () => {
  chain = await startSealingChain({ everyMs: 400 });
});
afterAll(async () => await chain.stop());

async function told(script: string): Promise<unknown> {
  const program = path.join(import.meta.dirname, script);
  const { stdout } = await runFile(process.execPath, [program, chain.url, chain.wsUrl, fundedKey], { timeout: 60_000 });
  return JSON.parse(stdout);
}

describe('clients of Ethereum, as they are published, transfer, deploy, call, watch and are refused:', () => {
  test('viem', async () => {
    expect(await told('viem.mjs')).toEqual({
      chainId: 76857769,
      statuses: ['success', 'success', 'success'],
      balance: ether,
      count: '5',
      refused: 'Nothing',
      watched: [[['5', true]], [['5', true]], [['5', true]]],
      head: 'bigint',
    });
  });

  test('ethers', async () => {
    expect(await told('ethers.mjs')).toEqual({
      chainId: '76857769',
      statuses: [1, 1],
      balance: ether,
      count: '7',
      refused: 'Nothing',
      watched: [true, '7'],
      found: ['7'],
      head: 'number',
    });
  });

  test('web3', async () => {
    expect(await told('web3.mjs')).toEqual({
      chainId: '76857769',
      statuses: ['1', '1'],
      balance: ether,
      count: '9',
      watched: '9',
      found: ['9'],
      refused: 'refused',
      head: 'string',
    });
  });
});
