import type { PublicKey } from '../../../commands/ledger/chain.ts';
import { accountOf, fromDer, type PrivateKey, publicKeyOf, sign, verify } from '../sign/keys.ts';

/**
 * The bytes that a wallet signs for a text that is no transaction (ADR-036): an empty document of the signer with the
 * text in it.
 */
export function adr036SignBytes(text: string, signer: string): Uint8Array {
  const data = Buffer.from(text).toString('base64');
  const message = `{"type":"sign/MsgSignData","value":{"data":"${data}","signer":"${signer}"}}`;
  return Buffer.from(
    `{"account_number":"0","chain_id":"","fee":{"amount":[],"gas":"0"},"memo":"","msgs":[${message}],"sequence":"0"}`,
  );
}

/** The signature of a key's owner over a text, as wallets make it: base64 of r‖s over ADR-036. */
export function signText(key: PrivateKey, text: string): string {
  const signer = accountOf(publicKeyOf(key));
  return Buffer.from(sign(key, adr036SignBytes(text, signer)).subarray(0, 64)).toString('base64');
}

/** The texts that a signature may cover: the text itself or its ADR-036 document, or that document alone. */
export type SignedForms = 'any' | 'adr036';

/** A public key, and the signer that its documents must name: by default the key's own account. */
export type Signatory = PublicKey & Readonly<{ signer?: string }>;

/**
 * Returns whether a signature (base64 of r‖s, of r‖s‖v for an Ethereum key, or of DER) is that of a key over a text.
 *
 * The raw text is tried first where it may be, then ADR-036 with the signer of the key. A high s is refused, and so is
 * base64 in any form but the one that encoders produce.
 *
 * @example isSignedBy(publicKey, '7', signature)
 */
export function isSignedBy(key: Signatory, text: string, signature: string, forms: SignedForms = 'any'): boolean {
  const pair = pairIn(key, signature);
  if (pair === undefined) return false;
  if (forms === 'any' && verify(key, Buffer.from(text), pair)) return true;
  return verify(key, adr036SignBytes(text, key.signer ?? accountOf(key)), pair);
}

/** Longest is DER: 72 bytes. */
const longestText = 100;
const recoveryIds: readonly (number | undefined)[] = [0, 1, 27, 28];

/** r‖s of a signature; undefined where no wallet produces such a one for a key of this type. */
function pairIn({ type }: PublicKey, signature: string): Uint8Array | undefined {
  if (signature.length > longestText) return undefined;
  const bytes = Buffer.from(signature, 'base64');
  if (bytes.toString('base64') !== signature) return undefined;
  if (bytes.length === 64) return bytes;
  if (bytes.length === 65 && type === 'eth_secp256k1' && recoveryIds.includes(bytes[64])) return bytes.subarray(0, 64);
  return fromDer(bytes);
}
