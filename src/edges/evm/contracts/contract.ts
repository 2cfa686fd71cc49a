import type { BlockContext } from '../../../commands/ledger/chain.ts';
import { TransactionFailed } from '../../../commands/ledger/failure.ts';
import type { StoredChain } from './rules.ts';

/** A call of a system contract while it runs. */
export type ContractCall = Readonly<{
  /** The sender of the message, never an argument of the call; Bech32, and in the machine's form. */
  caller: string;
  callerHex: `0x${string}`;
  chain: StoredChain;
  block: BlockContext;
  /** Logs an event of the contract. */
  emit: (event: string, values: Readonly<Record<string, unknown>>) => void;
}>;

/** The methods of a contract by name; arguments come decoded, numbers as bigint. */
export type Methods = Readonly<Record<string, (call: ContractCall, input: never) => Promise<unknown>>>;

/** Records of one page at most. */
const mostListed = 100;

/** A page as a call requests it. */
export type ContractPage = Readonly<{ offset: bigint; limit: bigint }>;

/** How many records a page holds at most. */
export function pageSize({ limit }: ContractPage): number {
  return Math.min(Number(limit) || mostListed, mostListed);
}

/** The items of a page. */
export function pageOf<T>(all: readonly T[], page: ContractPage): T[] {
  const from = Number(page.offset > BigInt(all.length) ? all.length : page.offset);
  return all.slice(from, from + pageSize(page));
}

/** The number of a word in an interface; 0 where it has none. */
export function numberOf(words: readonly string[], word: string): bigint {
  return BigInt(words.indexOf(word) + 1);
}

/** Refuses a call, with the words that its caller reads. */
export function refuse(words: string): never {
  throw new TransactionFailed('request', words);
}
