import type { Fact } from '../../events/catalogue.ts';

type Receipt = NonNullable<Fact<'BlockSealed'>['data']['evm']>['receipts'][number];

/** An event of a transaction, as the chain's REST shows it. */
export type TransactionEvent = Readonly<{
  type: string;
  attributes: readonly Readonly<{ key: string; value: string }>[];
}>;

/** Attributes whose values hardly ever come again: a search compares the transactions themselves. */
const unindexed = new Set(
  'signature acc_seq amount fee error evidence_id height ethereumTxHash txIndex txGasUsed ethereumTxFailed'.split(' '),
);
/** Longer values are not indexed either. */
const mostCharacters = 160;

/** Returns whether `valueTerm` finds an attribute by its value. */
export function isIndexed(key: string, value: string): boolean {
  return value.length <= mostCharacters && !unindexed.has(key.slice(key.lastIndexOf('.') + 1));
}

/** The term of all transactions with an attribute (`type.key`). */
export const keyTerm = (key: string): string => key;

/** The term of all transactions whose attribute has a value. */
export const valueTerm = (key: string, value: string): string => `${key}=${value}`;

/**
 * The term of transactions of the virtual machine whose attribute is the account of an address (`0x`, lower case),
 * which their events show in the chain's own form.
 */
export const addressTerm = (key: string, address: string): string => `${key}=account:${address}`;

/** The search terms of a transaction: each attribute of its events, and its value where that is indexed. */
export function searchTerms(events: readonly TransactionEvent[]): string[] {
  const terms = new Set<string>();
  for (const { type, attributes } of events)
    for (const { key, value } of attributes) {
      const name = `${type}.${key}`;
      terms.add(keyTerm(name));
      if (isIndexed(name, value)) terms.add(valueTerm(name, value));
    }
  return [...terms];
}

/** The same of a transaction of the virtual machine, whose events beside its contracts' follow from its receipt. */
export function receiptTerms(receipt: Receipt, index: number): string[] {
  const { from } = receipt;
  const all = ethereumEvents(receipt, index, { account: from, fee: '' });
  const account = from.toLowerCase();
  const terms = searchTerms(all).filter((term) => term !== valueTerm('tx.fee_payer', from));
  return [...terms, addressTerm('tx.fee_payer', account), addressTerm('message.sender', account)];
}

/** The name of the message that represents a transaction of the virtual machine. */
export const ethereumMessage = '/cosmos.evm.vm.v1.MsgEthereumTx';

/**
 * The chain's events of a transaction of the virtual machine, those of its contracts in between: `account` is its
 * sender as the chain writes it, `fee` what it offered, with its denomination.
 */
export function ethereumEvents(
  { hash, from, to, type, events, error, gasUsed }: Receipt,
  index: number,
  { account, fee }: Readonly<{ account: string; fee: string }>,
): TransactionEvent[] {
  const closing = { msg_index: '0' };
  const named = { ethereumTxHash: hash, txIndex: String(index) };
  return [
    event('tx', { fee, fee_payer: account }),
    event('ethereum_tx', named),
    event('message', { action: ethereumMessage, sender: account, ...closing }),
    ...events.map(({ type: name, attributes }) => ({ type: name, attributes })),
    event('ethereum_tx', {
      ...named,
      txGasUsed: String(gasUsed),
      ...(to === undefined ? {} : { recipient: to }),
      ...(error === undefined ? {} : { ethereumTxFailed: error }),
      ...closing,
    }),
    event('message', { module: 'evm', sender: from, txType: String(type), ...closing }),
  ];
}

function event(type: string, attributes: Readonly<Record<string, string>>): TransactionEvent {
  return { type, attributes: Object.entries(attributes).map(([key, value]) => ({ key, value })) };
}
