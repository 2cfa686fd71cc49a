import { alumeOf } from './coins.ts';
import { type Account, type LedgerState, contractsEdition, type Genesis } from './chain.ts';

/**
 * The chain before its first block.
 *
 * Module accounts come first, then those of the genesis in their order, which determines their numbers.
 */
export function genesisState(genesis: Genesis): LedgerState {
  const modules = Object.values(genesis.modules).map((address) => ({ address, balance: '0' }));
  const accounts = [...modules, ...genesis.accounts].map(({ address, balance }, number): Account => ({
    address,
    number,
    sequence: 0,
    balance: alumeOf(BigInt(balance)),
  }));
  const byAddress = new Map(accounts.map((account) => [account.address, account]));
  return {
    genesis,
    tallies: { actions: 0, accounts: accounts.length, evidence: 0 },
    action: () => undefined,
    openActions: () => [],
    node: () => undefined,
    nodes: () => [],
    account: (address) => byAddress.get(address),
  };
}

/** Reads a genesis that `JSON.stringify` wrote; the log is ours, so its form is checked at the root only. */
export function parseGenesis(text: string): Genesis {
  const parsed: unknown = JSON.parse(text);
  if (isGenesis(parsed) && parsed.contracts !== contractsEdition)
    throw new Error('The chain was begun under other system contracts (annals reset begins anew)');
  if (!isGenesis(parsed)) throw new Error('The log of the ledger begins with a genesis that is none');
  return parsed;
}

function isGenesis(value: unknown): value is Genesis {
  const parts = ['params', 'modules', 'accounts', 'validators'];
  return typeof value === 'object' && value !== null && parts.every((part) => Object.hasOwn(value, part));
}
