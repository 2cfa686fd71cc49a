import { createFeeMarket1559Tx } from '@ethereumjs/tx';
import { expect, test } from 'vitest';
import { createForks } from '../../../../src/edges/evm/executor/forks.ts';
import { networkChain } from '../../../../src/edges/evm/executor/state/genesis.ts';
import { submitTransaction } from '../../../../src/edges/evm/pool/submit.ts';
import { SettleSubmissions, type Fate } from '../../../../src/commands/ledger/submit.ts';
import { TransactionPool } from '../../../../src/commands/ledger/transaction-pool.ts';
import { dispatch } from '../../../../src/edges/bus.ts';
import type { SignedTransaction } from '../../../../src/edges/evm/pool/read-transaction.ts';
import { AppError } from '../../../../src/kit/errors.ts';
import type { Log } from '../../../../src/engine/log/log.ts';
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
    const pool = new TransactionPool<SignedTransaction>();
    let nonce = 0n;
    const bounds = { common, chainId, feeFloor: 1n };
    const account = () => Promise.resolve({ nonce, balance: 10n ** 18n });
    const submitting = { log: fresh.log, pool, bounds, account, now: () => Date.now() };
    const fees = { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n, gasLimit: 21_000n };
    const raw = createFeeMarket1559Tx({ chainId, nonce, to: `0x${'5b'.repeat(20)}`, ...fees }, { common })
      .sign(new Uint8Array(32).fill(7))
      .serialize();

    const { hash } = await submitTransaction(submitting, raw);
    expect((await submitTransaction(submitting, raw)).hash).toBe(hash);
    expect((await fresh.log.head('POOL')).lastSequence).toBe(1);
    // The head has it, though its fate is still on its way here.
    nonce = 1n;
    await expect(submitTransaction(submitting, raw)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('nonce too low'),
    });
    // Its fate is in the log, though the head that this edge reads does not have it yet.
    nonce = 0n;
    pool.remove(hash);
    await settle(fresh.log, hash, { kind: 'sealed', height: 7 });
    await expect(submitTransaction(submitting, raw)).rejects.toMatchObject({
      message: expect.stringContaining('already known'),
    });
    expect(pool.get(hash)).toBeUndefined();
  },
);

test.each<Fate>([
  { kind: 'dropped', reason: 'insufficient funds', code: 0 },
  { kind: 'expired' },
  { kind: 'replaced', by: `0x${'ab'.repeat(32)}` },
])('a transaction whose fate is $kind may be sent again', async (fate) => {
  await using fresh = await freshLog();
  const pool = new TransactionPool<SignedTransaction>();
  const account = () => Promise.resolve({ nonce: 0n, balance: 10n ** 18n });
  const bounds = { common, chainId, feeFloor: 1n };
  const submitting = { log: fresh.log, pool, bounds, account, now: () => Date.now() };
  const fees = { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n, gasLimit: 21_000n };
  const raw = createFeeMarket1559Tx({ chainId, nonce: 0n, to: `0x${'5b'.repeat(20)}`, ...fees }, { common })
    .sign(new Uint8Array(32).fill(7))
    .serialize();
  for (let time = 1; time <= 3; time += 1) {
    const { hash } = await submitTransaction(submitting, raw);
    expect((await fresh.log.head('POOL')).lastSequence).toBe(2 * time - 1);
    await settle(fresh.log, hash, fate);
    pool.remove(hash);
  }
});

test('sent twice at once, it is answered once the broker has it, and leaves what it was to replace where not', async () => {
  await using fresh = await freshLog();
  const pool = new TransactionPool<SignedTransaction>();
  const account = () => Promise.resolve({ nonce: 0n, balance: 10n ** 18n });
  const bounds = { common, chainId, feeFloor: 1n };
  const away = Promise.withResolvers<never>();
  away.promise.catch(() => undefined);
  const appends = [fresh.log.append, () => away.promise, () => away.promise];
  const append: Log['append'] = async (...given) => await (appends.shift() ?? fresh.log.append)(...given);
  const submitting = { log: { ...fresh.log, append }, pool, bounds, account, now: () => Date.now() };
  const payment = (times: bigint) => {
    const fees = { maxFeePerGas: times * 10n ** 10n, maxPriorityFeePerGas: times, gasLimit: 21_000n };
    const unsigned = createFeeMarket1559Tx({ chainId, nonce: 0n, to: `0x${'5b'.repeat(20)}`, ...fees }, { common });
    return unsigned.sign(new Uint8Array(32).fill(7)).serialize();
  };
  const { hash } = await submitTransaction(submitting, payment(1n));
  const twice = [0, 1].map(() => submitTransaction(submitting, payment(2n)));
  away.reject(new AppError('UNAVAILABLE', 'The broker did not acknowledge an append'));
  for (const one of await Promise.allSettled(twice)) expect(one).toMatchObject({ reason: { code: 'UNAVAILABLE' } });
  expect(pool.pending().map((one) => one.hash)).toEqual([hash]);
});

test('what a full pool evicted for a transaction waits again where the broker did not take that', async () => {
  await using fresh = await freshLog();
  const pool = new TransactionPool<SignedTransaction>();
  const account = () => Promise.resolve({ nonce: 0n, balance: 10n ** 20n });
  const bounds = { common, chainId, feeFloor: 1n };
  let isAway = false;
  const append: Log['append'] = async (...given) => {
    if (isAway) throw new AppError('UNAVAILABLE', 'The broker did not acknowledge an append');
    return await fresh.log.append(...given);
  };
  const submitting = { log: { ...fresh.log, append }, pool, bounds, account, now: () => Date.now() };
  const behindGap = (sender: number, nonce: bigint, tip: bigint) => {
    const fees = { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: tip, gasLimit: 5_000_000n };
    const data = new Uint8Array(127 * 1024);
    const unsigned = createFeeMarket1559Tx({ chainId, nonce, to: `0x${'5b'.repeat(20)}`, data, ...fees }, { common });
    return unsigned.sign(new Uint8Array(32).fill(sender)).serialize();
  };
  const fill = async (at: number): Promise<boolean> =>
    await submitTransaction(submitting, behindGap(1 + (at % 8), BigInt(1 + at), 2n)).then(
      () => true,
      () => false,
    );
  for (let at = 0; await fill(at);) at += 1;
  const waiting = pool.queued().map(({ hash }) => hash);
  expect(waiting.length).toBeGreaterThan(100);
  isAway = true;
  await expect(submitTransaction(submitting, behindGap(9, 1n, 9n))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(new Set(pool.queued().map(({ hash }) => hash))).toEqual(new Set(waiting));
});

test('calldata below the floor of EIP-7623 is refused', async () => {
  await using fresh = await freshLog();
  const pool = new TransactionPool<SignedTransaction>();
  const account = () => Promise.resolve({ nonce: 0n, balance: 10n ** 18n });
  const bounds = { common, chainId, feeFloor: 1n };
  const fees = { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n };
  const sent = (gasLimit: bigint) =>
    createFeeMarket1559Tx(
      { chainId, to: `0x${'5b'.repeat(20)}`, data: `0x${'01'.repeat(10_000)}`, gasLimit, ...fees },
      { common },
    )
      .sign(new Uint8Array(32).fill(7))
      .serialize();
  const submitting = { log: fresh.log, pool, bounds, account, now: () => Date.now() };
  await expect(submitTransaction(submitting, sent(420_999n))).rejects.toMatchObject({
    code: 'CONFLICT',
    message: 'intrinsic gas too low: gas 420999, minimum needed 421000',
  });
  await submitTransaction(submitting, sent(421_000n));
});

/** Writes the fate of a submission, a moment after any before it. */
async function settle(log: Log, hash: string, fate: Fate): Promise<void> {
  const at = new Date().toISOString();
  await dispatch(log, new SettleSubmissions(new Map([[hash, { hash, at, ...fate }]]), { at }));
}
