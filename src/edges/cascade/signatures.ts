import type { PublicKey } from '../../commands/ledger/chain.ts';
import { accountOf, fromDer, type PrivateKey, publicKeyOf, sign, verify } from '../cosmos/keys.ts';

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

/**
 * Whether a signature (base64 of r‖s, of r‖s‖v for an Ethereum key, or of DER) is that of a key over a text.
 *
 * The raw text is tried first, then ADR-036 with the key's account as the signer. A high s is refused.
 *
 * @example isSignedBy(publicKey, '7', signature)
 */
export function isSignedBy(key: PublicKey, text: string, signature: string): boolean {
  const bytes = bytesOf(signature);
  if (bytes === undefined) return false;
  const pair = bytes.length === 64 || bytes.length === 65 ? bytes : fromDer(bytes);
  if (pair === undefined) return false;
  return verify(key, Buffer.from(text), pair) || verify(key, adr036SignBytes(text, accountOf(key)), pair);
}

/** Longest is DER: 72 bytes. */
const longestText = 100;

function bytesOf(signature: string): Uint8Array | undefined {
  if (signature.length > longestText || !/^[A-Za-z0-9+/]+={0,2}$/.test(signature) || signature.length % 4 !== 0)
    return undefined;
  return Buffer.from(signature, 'base64');
}
