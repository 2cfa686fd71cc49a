import type { Changes } from '../../commands/ledger/chain.ts';
import { type LedgerRecord, recordsOf } from '../../commands/ledger/records.ts';
import type { Fact } from '../../events/catalogue.ts';
import { evmAddress } from '../chain/sign/addresses.ts';
import type { AccountsItem } from '../evm/executor/sealing.ts';

type Opening = NonNullable<NonNullable<Fact<'BlockSealed'>['data']['evm']>['opening']>;

/** The changes of a rules' transaction, as an item of the virtual machine's block. */
export function itemOf(changes: Changes): AccountsItem {
  return {
    kind: 'accounts',
    records: recordsOf(changes),
    accounts: [...changes.accounts.values()].flatMap(({ address, balance, sequence }) => {
      const evm = evmAddress(address);
      return evm === undefined ? [] : [{ address: evm, balance, nonce: BigInt(sequence) }];
    }),
  };
}

/**
 * What all changes of the rules left to the first transaction of the virtual machine in their block; undefined where
 * that is nothing.
 */
export function openingOf(changes: readonly Changes[]): Opening | undefined {
  const items = changes.map(itemOf);
  const isChanged = items.some(({ accounts, records = [] }) => accounts.length > 0 || records.length > 1);
  if (!isChanged) return undefined;
  const accounts = new Map(items.flatMap((item) => item.accounts.map((account) => [account.address, account])));
  const records = new Map(items.flatMap(({ records: rows = [] }) => rows.map((row) => [nameOf(row), row])));
  return {
    accounts: [...accounts.values()].map(({ address, balance, nonce }) => ({
      address,
      balance: String(balance),
      nonce: Number(nonce),
    })),
    records: [...records.values()],
  };
}

function nameOf({ table, id }: LedgerRecord): string {
  return `${table}/${id}`;
}
