import type { Fact } from '../../../events/catalogue.ts';
import type { Outcome } from './outcome.ts';

/** The receipt of a transaction, as the fact of its block has it. */
export type LoggedReceipt = NonNullable<Fact<'BlockSealed'>['data']['evm']>['receipts'][number];

/** An executed transaction in the form of the log. */
export function loggedReceipt({
  transaction,
  gasLimit,
  touched,
  events,
  records,
}: Extract<Outcome, { kind: 'executed' }>): LoggedReceipt {
  const { hash, type, from, to, contractAddress, succeeded, logs, error } = transaction;
  return {
    hash,
    type,
    from,
    ...(to === undefined ? {} : { to }),
    ...(contractAddress === undefined ? {} : { contract: contractAddress }),
    succeeded: succeeded ?? true,
    gasLimit: Number(gasLimit),
    gasUsed: Number(transaction.gasUsed),
    cumulativeGasUsed: Number(transaction.cumulativeGasUsed),
    effectiveGasPrice: String(transaction.effectiveGasPrice),
    logs: logs.map(({ address, topics, data }) => ({ address, topics: [...topics], data })),
    ...(error === undefined ? {} : { error }),
    events: events.map((event) => ({ type: event.type, attributes: [...event.attributes] })),
    records: [...records],
    touched: touched.map(({ address, balance, nonce }) => ({
      address,
      balance: String(balance),
      nonce: Number(nonce),
    })),
  };
}

/** Bytes that a transaction takes in the fact of its block: its receipt as JSON, and itself as base64. */
export function loggedBytes(executed: Extract<Outcome, { kind: 'executed' }>, raw: Uint8Array): number {
  return Buffer.byteLength(JSON.stringify(loggedReceipt(executed))) + 1 + Math.ceil(((raw.length + 4) * 4) / 3);
}
