import type { Fact } from '../../events/catalogue.ts';
import type { ActionRow } from '../tables.ts';
import type { PaymentOf } from './action-tables.ts';

type Paid = Fact<'ActionFinalized'>['data']['payments'];
type Transaction = NonNullable<Fact<'ActionFinalized'>['data']['transaction']>;

/**
 * An action's payments with those of one transaction.
 *
 * One entry per account, denomination and transaction; transfers of the same three inside one fact add up. What a
 * transaction is known to have paid is replaced by what is said of it later.
 */
export function withPayments(row: ActionRow, paid: Paid, transaction: Transaction | undefined): readonly PaymentOf[] {
  if (paid.length === 0) return row.payments;
  if (!transaction) throw new Error(`Cannot add payments to action ${row.id}: no transaction that paid them`);
  const { hash: tx_hash, height } = transaction;
  const sums = new Map<string, PaymentOf>();
  for (const { account, denom, amount, again = false } of paid) {
    const key = JSON.stringify([account, denom]);
    sums.set(key, { account, denom, amount: sum(sums.get(key)?.amount ?? '0', amount), tx_hash, height, again });
  }
  return [...row.payments.filter((earlier) => earlier.tx_hash !== tx_hash), ...sums.values()];
}

/** Amounts are decimal text of any size. */
const sum = (a: string, b: string) => String(BigInt(a) + BigInt(b));
