import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Admission, executable, poolLimits, type PoolTransaction } from '../../../src/commands/ledger/pool.ts';
import { TransactionPool } from '../../../src/commands/ledger/transaction-pool.ts';

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

type TestPool = TransactionPool<PoolTransaction>;

/** A pool that admits all of these, or fails the test. */
function poolOf(transactions: readonly PoolTransaction[], admission: Admission = rich): TestPool {
  const pool: TestPool = new TransactionPool();
  for (const one of transactions) expect(pool.admit(one, admission), one.hash).toMatchObject({ kind: 'admitted' });
  return pool;
}

const empty = (): TestPool => new TransactionPool();
const everyGas = 10n ** 12n;

const names = (transactions: readonly PoolTransaction[]): string[] =>
  transactions.map(({ sender, nonce }) => `${sender}${nonce}`);

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
    expect(empty().admit(transaction(changes), rich)).toMatchObject({
      kind: 'refused',
      reason: expect.stringContaining(words),
    });
  });

  test.each([0, 1, 2, 4])('takes type %d at the bounds', (type) => {
    const atBounds = { type, sizeBytes: 128 * 1024, gasLimit: 25_000_000n, maxFeePerGas: gwei / 2n };
    expect(empty().admit(transaction({ ...atBounds, maxPriorityFeePerGas: 0n }), rich).kind).toBe('admitted');
  });

  test('knows a transaction that waits already', { tags: ['S1.evm.twice'] }, () => {
    expect(poolOf([transaction()]).admit(transaction(), rich)).toEqual({ kind: 'known' });
  });

  test('looks at nothing but what waits of the sender, however much waits of others', () => {
    let reads = 0;
    const counted = (one: PoolTransaction): PoolTransaction =>
      new Proxy(one, {
        get: (target, name) => {
          reads += 1;
          return Reflect.get(target, name) as unknown;
        },
      });
    const others = Array.from({ length: 400 }, (_, at) =>
      transaction({ sender: `other${at % 80}`, nonce: BigInt(5 + Math.floor(at / 80)) }),
    );
    const pool = poolOf(others.map(counted));
    const readsOf = (changes: Partial<PoolTransaction>): number => {
      reads = 0;
      expect(pool.admit(transaction(changes), rich).kind).toBe('admitted');
      return reads;
    };
    expect(readsOf({})).toBe(0);
    expect(readsOf({ nonce: 6n })).toBe(0);
    const ofFive = readsOf({ sender: 'other7', nonce: 10n });
    expect(ofFive).toBeGreaterThan(0);
    expect(ofFive).toBeLessThan(5 * 40);
    reads = 0;
    pool.seal('alice/5/10000000000/1000000000');
    pool.remove('alice/6/10000000000/1000000000');
    expect(reads).toBe(0);
  });

  test('counts all that waits of an account against its balance', () => {
    const cost = 21_000n * 10n * gwei + 1n;
    const admission = { ...rich, account: { nonce: 5n, balance: 2n * cost } };
    const pool = poolOf([transaction(), transaction({ nonce: 6n })], admission);
    expect(pool.admit(transaction({ nonce: 7n }), admission)).toMatchObject({ kind: 'refused' });
  });

  test.each([
    ['9 % more', 109n, 109n, false],
    ['10 % more of the fee alone', 110n, 100n, false],
    ['10 % more of the tip alone', 100n, 110n, false],
    ['10 % more', 110n, 110n, true],
  ])('replaces for %s: %s, %s', (_, fee, tip, isReplaced) => {
    const first = transaction();
    const second = transaction({ maxFeePerGas: (fee * gwei) / 10n, maxPriorityFeePerGas: (tip * gwei) / 100n });
    const pool = poolOf([first]);
    const answer = pool.admit(second, rich);
    if (isReplaced) expect(answer).toEqual({ kind: 'admitted', replaced: first, evicted: [] });
    else expect(answer).toEqual({ kind: 'refused', reason: 'replacement transaction underpriced' });
    expect(pool.pending()).toEqual([isReplaced ? second : first]);
  });

  test('bounds what one sender lets wait, behind a gap and without one', () => {
    const { pendingOfSender, queuedOfSender } = poolLimits;
    const behindGap = Array.from({ length: queuedOfSender }, (__, at) => transaction({ nonce: BigInt(at + 10) }));
    const queued = poolOf(behindGap);
    expect(queued.admit(transaction({ nonce: 1000n }), rich)).toMatchObject({ kind: 'refused' });
    expect(queued.admit(transaction({ nonce: 5n }), rich)).toMatchObject({ kind: 'admitted' });
    const all = pendingOfSender + queuedOfSender;
    const inOrder = poolOf(Array.from({ length: all }, (__, at) => transaction({ nonce: BigInt(at + 5) })));
    expect(inOrder.admit(transaction({ nonce: BigInt(all + 5) }), rich)).toMatchObject({ kind: 'refused' });
  });

  test('bounds the pool: what pays least goes first, and a replacement is let in', () => {
    const many = Array.from({ length: poolLimits.all }, (__, at) => transaction({ sender: `s${at}`, submittedAt: at }));
    const pool = poolOf(many);
    expect(pool.admit(transaction({ submittedAt: poolLimits.all }), rich)).toEqual({
      kind: 'refused',
      reason: 'txpool is full',
    });
    expect(pool.pending()).toEqual(many);
    const dearer = { maxFeePerGas: 20n * gwei, maxPriorityFeePerGas: 2n * gwei };
    expect(pool.admit(transaction({ sender: 's0', ...dearer }), rich)).toMatchObject({ kind: 'admitted', evicted: [] });
    expect(pool.admit(transaction(dearer), rich)).toMatchObject({ kind: 'admitted', evicted: [many.at(-1)] });
    expect(pool.pending()).toHaveLength(poolLimits.all);
  });

  test('what cannot run yet has the smaller part, and goes first however much it offers', () => {
    const offers = { maxFeePerGas: 100n * gwei, maxPriorityFeePerGas: 90n * gwei };
    const flood = Array.from({ length: poolLimits.queued + 10 }, (__, at) =>
      transaction({ sender: `s${at}`, nonce: 7n, submittedAt: at, ...offers }),
    );
    const pool = empty();
    for (const [at, one] of flood.entries())
      expect(pool.admit(one, rich)).toMatchObject({ kind: at < poolLimits.queued ? 'admitted' : 'refused' });
    expect(pool.queued()).toHaveLength(poolLimits.queued);
    for (let at = 0; at < poolLimits.all; at += 1) pool.admit(transaction({ sender: `p${at}` }), rich);
    expect([pool.pending().length, pool.queued().length]).toEqual([poolLimits.all, 0]);
  });

  test('bounds the bytes that wait', () => {
    const large = (at: number, nonce = 5n) =>
      transaction({ sender: `s${at}`, nonce, sizeBytes: poolLimits.sizeBytes, submittedAt: at });
    const pool = empty();
    for (let at = 0; at < 1000; at += 1) pool.admit(large(at), rich);
    for (let at = 1000; at < 1200; at += 1) pool.admit(large(at, 9n), rich);
    expect((pool.pending().length + pool.queued().length) * poolLimits.sizeBytes).toBeLessThanOrEqual(poolLimits.bytes);
    expect(pool.queued().length * poolLimits.sizeBytes).toBeLessThanOrEqual(poolLimits.queuedBytes);
  });

  test('refuses a sender with code that is no delegation', () => {
    const contract = { ...rich, account: { ...rich.account, hasCode: true } };
    expect(empty().admit(transaction(), contract)).toMatchObject({ reason: expect.stringContaining('not an eoa') });
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
    const order = pool.ready({ baseFee: 2n * gwei, gasLimit: everyGas });
    expect(names(order)).toEqual(['carol5', 'bob5', 'alice5', 'alice6', 'dave5']);
  });

  test('leaves what is behind a gap until the gap is filled', () => {
    const gapped = [transaction({ nonce: 5n }), transaction({ nonce: 7n })];
    expect(names(poolOf(gapped).ready({ baseFee: gwei, gasLimit: everyGas }))).toEqual(['alice5']);
    const filled = poolOf([...gapped, transaction({ nonce: 6n })]);
    expect(names(filled.ready({ baseFee: gwei, gasLimit: everyGas }))).toEqual(['alice5', 'alice6', 'alice7']);
  });

  test('takes nothing of a sender from the first on that does not pay the base fee', () => {
    const poor = transaction({ nonce: 6n, maxFeePerGas: 2n * gwei });
    const pool = poolOf([transaction(), poor, transaction({ nonce: 7n })]);
    expect(names(pool.ready({ baseFee: 3n * gwei, gasLimit: everyGas }))).toEqual(['alice5']);
  });

  test('takes on request what may take long last, with all that its sender has behind it', () => {
    const heavy = { gasLimit: 2_000_001n, maxPriorityFeePerGas: 5n * gwei };
    const pool = poolOf([
      transaction({ nonce: 5n, maxPriorityFeePerGas: 6n * gwei }),
      transaction({ nonce: 6n, ...heavy }),
      transaction({ nonce: 7n, maxPriorityFeePerGas: 9n * gwei }),
      transaction({ sender: 'bob', ...heavy, maxPriorityFeePerGas: 4n * gwei }),
      transaction({ sender: 'carol', gasLimit: 2_000_000n }),
    ]);
    const next = { baseFee: gwei, gasLimit: everyGas };
    expect(names(pool.ready(next))).toEqual(['alice5', 'alice6', 'alice7', 'bob5', 'carol5']);
    const careful = pool.ready({ ...next, isQuickFirst: true });
    expect(names(careful)).toEqual(['alice5', 'carol5', 'alice6', 'alice7', 'bob5']);
  });

  test('gives the room beside what no longer fits to smaller ones of others', () => {
    const giant = { gasLimit: 6_000_000n, maxPriorityFeePerGas: 5n * gwei };
    const pool = poolOf([
      ...['anna', 'bert', 'cleo', 'dora', 'emil'].map((sender, submittedAt) =>
        transaction({ sender, submittedAt, ...giant }),
      ),
      transaction({ sender: 'emil', nonce: 6n, maxPriorityFeePerGas: 9n * gwei }),
      transaction({ sender: 'zoe' }),
    ]);
    const order = pool.ready({ baseFee: gwei, gasLimit: 25_000_000n });
    expect(names(order)).toEqual(['anna5', 'bert5', 'cleo5', 'dora5', 'zoe5']);
  });

  test('names every transaction that can run once, in the order of each sender', () => {
    const waiting = fc.record({ sender: fc.integer({ min: 0, max: 4 }), nonce: fc.integer({ min: 5, max: 9 }) });
    fc.assert(
      fc.property(fc.uniqueArray(waiting, { selector: ({ sender, nonce }) => `${sender}/${nonce}` }), (given) => {
        const pool = poolOf(
          given.map(({ sender, nonce }) => transaction({ sender: `s${sender}`, nonce: BigInt(nonce) })),
        );
        const order = pool.ready({ baseFee: gwei, gasLimit: everyGas });
        for (const [sender, own] of Map.groupBy([...pool.pending(), ...pool.queued()], (one) => one.sender))
          expect(order.filter((one) => one.sender === sender)).toEqual(executable(own, 5n));
        expect(new Set(order).size).toBe(order.length);
      }),
    );
  });
});

describe('settle and expire', () => {
  test('take out what the chain has passed and what waited for three hours', () => {
    const pool = poolOf([
      transaction({ nonce: 5n }),
      transaction({ nonce: 6n, submittedAt: 1 }),
      transaction({ nonce: 7n, submittedAt: 2 }),
      transaction({ sender: 'bob', submittedAt: 2 }),
    ]);
    expect(names(pool.settle(() => 6n))).toEqual(['alice5', 'bob5']);
    expect(names(pool.expire(poolLimits.lifetimeMs + 1))).toEqual(['alice6']);
    expect([names(pool.pending()), names(pool.queued())]).toEqual([[], ['alice7']]);
  });

  test('a pool counts as an account of all that it holds, whatever happens to it', () => {
    const step = fc.record({
      sender: fc.nat(3),
      nonce: fc.integer({ min: 5, max: 12 }),
      tip: fc.integer({ min: 1, max: 9 }),
      step: fc.constantFrom('admit', 'admit', 'admit', 'seal', 'remove'),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const pool = empty();
        for (const { sender, nonce, tip, step: deed } of steps) {
          const fee = BigInt(tip) * gwei;
          const one = transaction({
            sender: `s${sender}`,
            nonce: BigInt(nonce),
            maxPriorityFeePerGas: fee,
            maxFeePerGas: 10n * fee,
          });
          if (deed === 'admit') pool.admit(one, rich);
          else pool[deed](one.hash);
          const all = [...pool.pending(), ...pool.queued()];
          expect(new Set(all.map((each) => `${each.sender}/${each.nonce}`)).size).toBe(all.length);
          expect(all.every((each) => pool.get(each.hash) === each)).toBe(true);
        }
      }),
      { numRuns: 100 },
    );
  });
});
