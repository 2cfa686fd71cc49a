import type { PublicKey } from './chain.ts';
import type { Message } from './messages.ts';

/** How a signer says what it signs: protobuf bytes, or amino JSON. */
export type SignMode = 'SIGN_MODE_DIRECT' | 'SIGN_MODE_LEGACY_AMINO_JSON';

/** Messages of one signer, carried out whole or not at all; what is signed, and the signature (base64). */
export type Transaction = Readonly<{
  messages: readonly Message[];
  /** Account of the first message's signer. */
  signer: string;
  /** May be left out by a signer whose key the chain knows. */
  publicKey: PublicKey | undefined;
  sequence: number;
  fee: readonly Readonly<{ denom: string; amount: string }>[];
  gasLimit: number;
  memo: string;
  /** Last height that may hold it; 0: any. */
  timeoutHeight: number;
  mode: SignMode;
  signature: string;
}>;
