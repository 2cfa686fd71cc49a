import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { paidTo } from '../../../../src/projections/actions/totals/payment-counters.ts';
import type { Reading } from '../../../../src/projections/reading.ts';
import { actionFacts, transactionAt } from '../../../support/histories/facts.ts';
import { loadReading } from '../../../support/histories/load-projection.ts';
import { seeded, tellAgain } from '../../../support/histories/random-history.ts';

const amounts = ['0', '1', '999999999', '1000000000', '340282366920938463463374607431768211456'] as const;
const denoms = ['ulume', 'ibc/27394FB092D2ECCD'] as const;
const workers = ['lumera1a', 'lumera1b'] as const;
/** Several payments share a transaction, at heights over four cells. */
const lastHeight = 4_000_000;

const random = seeded(3);
const paid = Array.from({ length: 400 }, () => ({
  account: random.pick(workers),
  denom: random.pick(denoms),
  amount: random.pick(amounts),
  height: Math.floor(random.below(200) * (lastHeight / 199)),
}));
const facts = paid.flatMap(({ height, ...payment }, at) => {
  const { registered, finalized } = actionFacts(String(at + 1));
  return [registered(), finalized({ payments: [payment], transaction: transactionAt(height) })];
});

type Range = Readonly<{ account: string; from: number; to: number }>;

function expected({ account, from, to }: Range) {
  const own = paid.filter((one) => one.account === account && one.height >= from && one.height <= to);
  return [...denoms].toSorted().flatMap((denom) => {
    const some = own.filter((one) => one.denom === denom);
    const amount = String(some.reduce((sum, one) => sum + BigInt(one.amount), 0n));
    const transactions = new Set(some.map(({ height }) => height)).size;
    return some.length === 0 ? [] : [{ denom, amount, transactions }];
  });
}

describe('paidTo', () => {
  let reading: Reading;
  let close: () => Promise<void>;
  beforeAll(async () => {
    ({ reading, close } = await loadReading(tellAgain(facts)));
  });
  afterAll(async () => await close());

  it('adds up amounts of any size and counts transactions once, over any heights', async () => {
    const at = fc.oneof(fc.nat(lastHeight), fc.constantFrom(0, 1_048_575, 1_048_576, 2_097_152));
    const range = fc.tuple(fc.constantFrom(...workers, 'nobody'), at, fc.oneof(at, fc.constant(Infinity)));
    await fc.assert(
      fc.asyncProperty(range, async ([account, a, b]) => {
        const owned = { operator: 'op', account, from: Math.min(a, b), to: Math.max(a, b) };
        expect(await paidTo(reading, [owned])).toEqual(expected(owned));
      }),
      { numRuns: 150 },
    );
  });

  it('adds up what several accounts were paid', async () => {
    const whole = { operator: 'op', from: 0, to: Infinity };
    const both = await paidTo(
      reading,
      workers.map((account) => ({ ...whole, account })),
    );
    for (const { denom, amount, transactions } of both) {
      const each = workers.flatMap((account) => expected({ ...whole, account })).filter((one) => one.denom === denom);
      expect(amount).toBe(String(each.reduce((sum, one) => sum + BigInt(one.amount), 0n)));
      expect(transactions).toBe(each.reduce((sum, one) => sum + one.transactions, 0));
    }
    expect(both).toHaveLength(denoms.length);
  });
});
