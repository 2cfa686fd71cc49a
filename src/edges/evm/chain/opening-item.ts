import { recordTable } from '../../../commands/ledger/records.ts';
import type { Opening } from '../../../projections/chain/block-tables.ts';
import type { Hex } from '../executor/outcome.ts';
import type { AccountsItem } from '../executor/sealing.ts';

/** The rules' state changes for a block of the virtual machine, in the form of its executor. */
export function openingItem({ accounts, records }: Opening): AccountsItem {
  return {
    kind: 'accounts',
    accounts: accounts.map(({ address, balance, nonce }) => ({
      address: address as Hex,
      balance: BigInt(balance),
      nonce: BigInt(nonce),
    })),
    records: records.map(({ table, id, value }) => ({ table: recordTable(table), id, value })),
  };
}
