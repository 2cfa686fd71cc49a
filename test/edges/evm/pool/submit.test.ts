import { createFeeMarket1559Tx } from '@ethereumjs/tx';
import { expect, test } from 'vitest';
import { createForks } from '../../../../src/edges/evm/executor/forks.ts';
import { networkChain } from '../../../../src/edges/evm/executor/genesis.ts';
import { submitTransaction } from '../../../../src/edges/evm/pool/submit.ts';
import { WaitingTransactions } from '../../../../src/edges/evm/pool/waiting.ts';
import { freshLog } from '../../ledger/ledger-under-test.ts';

const chainId = 76857769n;
const common = createForks(networkChain({ chainId: Number(chainId), seconds: 1, accounts: {} })).at({
  number: 1n,
  timestamp: 1n,
});

test(
  'the same transaction is answered with its hash while it waits, and refused once it is mined',
  { tags: ['S1.evm.twice'] },
  async () => {
    await using fresh = await freshLog();
    const waiting = new WaitingTransactions();
    let nonce = 0n;
    const bounds = { common, chainId, feeFloor: 1n };
    const account = () => Promise.resolve({ nonce, balance: 10n ** 18n });
    const submitting = { log: fresh.log, waiting, bounds, account, now: () => Date.now() };
    const fees = { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n, gasLimit: 21_000n };
    const raw = createFeeMarket1559Tx({ chainId, nonce, to: `0x${'5b'.repeat(20)}`, ...fees }, { common })
      .sign(new Uint8Array(32).fill(7))
      .serialize();

    const { hash } = await submitTransaction(submitting, raw);
    expect((await submitTransaction(submitting, raw)).hash).toBe(hash);
    expect((await fresh.log.head('POOL')).lastSequence).toBe(1);
    waiting.remove(hash);
    nonce = 1n;
    await expect(submitTransaction(submitting, raw)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('nonce too low'),
    });
  },
);
