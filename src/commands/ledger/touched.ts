import type { Account, Changes, LedgerState } from './chain.ts';

/** An account as the virtual machine left it. */
export type TouchedAccount = Readonly<{
  /** Bech32. */
  address: string;
  /** In the smallest unit. */
  balance: bigint;
  sequence: number;
}>;

/**
 * The virtual machine's changes to accounts, as changes of the chain; a new account is created.
 *
 * An unchanged account, and a new one that is still empty, makes no change.
 */
export function touchedChanges(state: LedgerState, touched: readonly TouchedAccount[]): Changes {
  const accounts = new Map<string, Account>();
  let count = state.tallies.accounts;
  for (const { address, balance, sequence } of touched) {
    const known = accounts.get(address) ?? state.account(address);
    if (known) accounts.set(address, { ...known, balance, sequence });
    else if (balance > 0n || sequence > 0) accounts.set(address, { address, number: count++, sequence, balance });
  }
  const tallies = { ...state.tallies, accounts: count };
  return { tallies, accounts, actions: new Map(), nodes: new Map() };
}
