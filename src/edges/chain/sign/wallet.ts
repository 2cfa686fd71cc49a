import { leastFee } from '../../../commands/ledger/ante.ts';
import { gasWanted, type Message } from '../../../commands/ledger/messages.ts';
import type { PrivateKey } from './keys.ts';
import { signTransaction } from './transaction-codec.ts';

/**
 * The parameters of a signature beside the key: chain, account number and next sequence, and the denomination of fees.
 */
export type Signing = Readonly<{ chainId: string; denom: string; number: number; sequence: number }>;

/** The bytes of a transaction with the usual gas and the least fee for it. */
export function signedTransaction(key: PrivateKey, messages: readonly Message[], signing: Signing): Uint8Array {
  const { chainId, denom, number, sequence } = signing;
  const gasLimit = gasWanted(messages);
  const fee = [{ denom, amount: String(leastFee(gasLimit)) }];
  return signTransaction(key, { chainId, accountNumber: number, messages, sequence, fee, gasLimit });
}
