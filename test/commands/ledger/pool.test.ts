import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  admit,
  type Admission,
  blockOrder,
  countOf,
  executable,
  type Pool,
  poolLimits,
  type PoolTransaction,
  remaining,
} from '../../../src/commands/ledger/pool.ts';

const gwei = 10n ** 9n;
const rich: Admission = { account: { nonce: 5n, balance: 10n ** 24n }, chainId: 76_857_769n, feeFloor: gwei / 2n };

const transaction = (changes: Partial<PoolTransaction> = {}): PoolTransaction => {
  const made = {
    sender: 'alice',
    nonce: 5n,
    type: 2,
    chainId: 76_857_769n,
    gasLimit: 21_000n,
    intrinsicGas: 21_000n,
    maxFeePerGas: 10n * gwei,
    maxPriorityFeePerGas: gwei,
    value: 1n,
    sizeBytes: 120,
    submittedAt: 0,
    ...changes,
  };
  return { hash: `${made.sender}/${made.nonce}/${made.maxFeePerGas}/${made.maxPriorityFeePerGas}`, ...made };
};

/** A pool that admits all of these, or fails the test. */
const poolOf = (transactions: readonly PoolTransaction[], admission: Admission = rich): Pool =>
  transactions.reduce((pool: Pool, one) => {
    const admitted = admit(pool, one, admission);
    if (admitted.kind !== 'admitted') throw new Error(`${one.hash} was not admitted: ${JSON.stringify(admitted)}`);
    return admitted.pool;
  }, new Map());

const names = (transactions: readonly PoolTransaction[]): string[] =>
  transactions.map(({ sender, nonce }) => `${sender}${nonce}`);
const fromFive = { nonceOf: () => 5n };

describe('admit', () => {
  test.each<[string, Partial<PoolTransaction>, string]>([
    ['a transaction with blobs', { type: 3 }, 'transaction type not supported: 3'],
    ['one of another chain', { chainId: 1n }, 'invalid chain id for signer: have 1 want 76857769'],
    ['one of any chain', { chainId: undefined }, 'only replay-protected'],
    ['one byte too many', { sizeBytes: 128 * 1024 + 1 }, 'oversized data'],
    ['more gas than a block has', { gasLimit: 25_000_001n }, 'exceeds block gas limit'],
    ['less gas than it costs to begin', { gasLimit: 20_999n }, 'intrinsic gas too low'],
    ['a tip above its fee', { maxPriorityFeePerGas: 11n * gwei }, 'max priority fee per gas higher'],
    ['a fee below the floor', { maxFeePerGas: gwei / 2n - 1n, maxPriorityFeePerGas: 0n }, 'transaction underpriced'],
    ['a nonce that was', { nonce: 4n }, 'nonce too low: next nonce 5, tx nonce 4'],
    ['more than the account has', { value: 10n ** 24n }, 'insufficient funds for gas * price + value'],
  ])('refuses %s', (_, changes, words) => {
    expect(admit(new Map(), transaction(changes), rich)).toMatchObject({
      kind: 'refused',
      reason: expect.stringContaining(words),
    });
  });

  test.each([0, 1, 2, 4])('takes type %d at the bounds', (type) => {
    const atBounds = { type, sizeBytes: 128 * 1024, gasLimit: 25_000_000n, maxFeePerGas: gwei / 2n };
    expect(admit(new Map(), transaction({ ...atBounds, maxPriorityFeePerGas: 0n }), rich).kind).toBe('admitted');
  });

  test('knows a transaction that waits already', { tags: ['S1.evm.twice'] }, () => {
    expect(admit(poolOf([transaction()]), transaction(), rich)).toEqual({ kind: 'known' });
  });

  test('counts all that waits of an account against its balance', () => {
    const cost = 21_000n * 10n * gwei + 1n;
    const admission = { ...rich, account: { nonce: 5n, balance: 2n * cost } };
    const pool = poolOf([transaction(), transaction({ nonce: 6n })], admission);
    expect(admit(pool, transaction({ nonce: 7n }), admission)).toMatchObject({ kind: 'refused' });
  });

  test.each([
    ['9 % more', 109n, 109n, false],
    ['10 % more of the fee alone', 110n, 100n, false],
    ['10 % more of the tip alone', 100n, 110n, false],
    ['10 % more', 110n, 110n, true],
  ])('replaces for %s: %s, %s', (_, fee, tip, isReplaced) => {
    const first = transaction();
    const second = transaction({ maxFeePerGas: (fee * gwei) / 10n, maxPriorityFeePerGas: (tip * gwei) / 100n });
    const admitted = admit(poolOf([first]), second, rich);
    if (isReplaced) expect(admitted).toEqual({ kind: 'admitted', pool: poolOf([second]), replaced: first.hash });
    else expect(admitted).toEqual({ kind: 'refused', reason: 'replacement transaction underpriced' });
  });

  test('bounds what one sender lets wait, behind a gap and without one', () => {
    const { pendingOfSender, queuedOfSender } = poolLimits;
    const behindGap = Array.from({ length: queuedOfSender }, (__, at) => transaction({ nonce: BigInt(at + 10) }));
    const queued = poolOf(behindGap);
    expect(admit(queued, transaction({ nonce: 1000n }), rich)).toMatchObject({ kind: 'refused' });
    expect(admit(queued, transaction({ nonce: 5n }), rich)).toMatchObject({ kind: 'admitted' });
    const all = pendingOfSender + queuedOfSender;
    const inOrder = poolOf(Array.from({ length: all }, (__, at) => transaction({ nonce: BigInt(at + 5) })));
    expect(admit(inOrder, transaction({ nonce: BigInt(all + 5) }), rich)).toMatchObject({ kind: 'refused' });
  });

  test('bounds the whole pool, but lets a replacement in', () => {
    const one = transaction();
    const full: Pool = new Map(
      Array.from({ length: poolLimits.all }, (__, at) => [`s${at}`, [transaction({ sender: `s${at}` })]]),
    );
    expect(countOf(full)).toBe(poolLimits.all);
    expect(admit(full, one, rich)).toEqual({ kind: 'refused', reason: 'txpool is full' });
    const dearer = { sender: 's0', maxFeePerGas: 20n * gwei, maxPriorityFeePerGas: 2n * gwei };
    expect(admit(full, transaction(dearer), rich).kind).toBe('admitted');
  });
});

describe('blockOrder', () => {
  test('takes the highest tip first, of equal ones the oldest, and of a sender by nonce', () => {
    const pool = poolOf([
      transaction({ nonce: 5n, maxPriorityFeePerGas: gwei }),
      transaction({ nonce: 6n, maxPriorityFeePerGas: 9n * gwei }),
      transaction({ sender: 'bob', maxPriorityFeePerGas: 2n * gwei, submittedAt: 2 }),
      transaction({ sender: 'carol', maxPriorityFeePerGas: 2n * gwei, submittedAt: 1 }),
      // Tips 3 gwei but pays no more than 1 above the base fee.
      transaction({ sender: 'dave', maxFeePerGas: 3n * gwei, maxPriorityFeePerGas: 3n * gwei, submittedAt: 1 }),
    ]);
    const order = blockOrder(pool, { baseFee: 2n * gwei, ...fromFive });
    expect(names(order)).toEqual(['carol5', 'bob5', 'alice5', 'alice6', 'dave5']);
  });

  test('leaves what is behind a gap until the gap is filled', () => {
    const gapped = [transaction({ nonce: 5n }), transaction({ nonce: 7n })];
    expect(names(blockOrder(poolOf(gapped), { baseFee: gwei, ...fromFive }))).toEqual(['alice5']);
    const filled = poolOf([...gapped, transaction({ nonce: 6n })]);
    expect(names(blockOrder(filled, { baseFee: gwei, ...fromFive }))).toEqual(['alice5', 'alice6', 'alice7']);
  });

  test('takes nothing of a sender from the first on that does not pay the base fee', () => {
    const poor = transaction({ nonce: 6n, maxFeePerGas: 2n * gwei });
    const pool = poolOf([transaction(), poor, transaction({ nonce: 7n })]);
    expect(names(blockOrder(pool, { baseFee: 3n * gwei, ...fromFive }))).toEqual(['alice5']);
  });

  test('names every transaction that can run once, in the order of each sender', () => {
    const waiting = fc.record({ sender: fc.integer({ min: 0, max: 4 }), nonce: fc.integer({ min: 5, max: 9 }) });
    fc.assert(
      fc.property(fc.uniqueArray(waiting, { selector: ({ sender, nonce }) => `${sender}/${nonce}` }), (given) => {
        const pool = poolOf(
          given.map(({ sender, nonce }) => transaction({ sender: `s${sender}`, nonce: BigInt(nonce) })),
        );
        const order = blockOrder(pool, { baseFee: gwei, ...fromFive });
        for (const [sender, own] of pool)
          expect(order.filter((one) => one.sender === sender)).toEqual(executable(own, 5n));
        expect(new Set(order).size).toBe(order.length);
      }),
    );
  });
});

describe('remaining', () => {
  test('drops what the chain has passed and what waited for three hours', () => {
    const pool = poolOf([
      transaction({ nonce: 5n }),
      transaction({ nonce: 6n, submittedAt: 1 }),
      transaction({ nonce: 7n, submittedAt: 2 }),
      transaction({ sender: 'bob', submittedAt: 2 }),
    ]);
    const rest = remaining(pool, { now: poolLimits.lifetimeMs + 1, nonceOf: () => 6n });
    expect([...rest].map(([sender, own]) => [sender, names(own)])).toEqual([['alice', ['alice7']]]);
  });
});
