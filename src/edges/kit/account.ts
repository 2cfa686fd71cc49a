import { readFile } from 'node:fs/promises';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { ripemd160 } from '@noble/hashes/legacy.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { bech32 } from '@scure/base';
import { AppError } from '../../commands/errors.ts';

/** Kinds of key that an account on the chain has; the first is the usual one. */
export const keyTypes = ['eth_secp256k1', 'secp256k1'] as const;
export type KeyType = (typeof keyTypes)[number];

/** An account that this process holds the key of. */
export type Account = Readonly<{ keyType: KeyType; address: string; publicKey: Uint8Array }>;

/** What the bytes of an address are: one private key has two, by its type. */
const addressBytes: Readonly<Record<KeyType, (publicKey: Uint8Array) => Uint8Array>> = {
  eth_secp256k1: (publicKey) =>
    keccak_256(secp256k1.Point.fromBytes(publicKey).toBytes(false).subarray(1)).subarray(12),
  secp256k1: (publicKey) => ripemd160(sha256(publicKey)),
};

/**
 * The address of a compressed public key, as the chain writes it.
 *
 * @example addressOfKey(publicKey, { keyType: 'secp256k1', prefix: 'lumera' }) // 'lumera10xcqpzrky6eff2g52qdye53xkk9jxkvrel68w3'
 */
export function addressOfKey(
  publicKey: Uint8Array,
  { keyType, prefix }: Readonly<{ keyType: KeyType; prefix: string }>,
): string {
  return bech32.encode(prefix, bech32.toWords(addressBytes[keyType](publicKey)));
}

/** The account of a private key. */
export function accountOf(
  privateKey: Uint8Array,
  { keyType, prefix }: Readonly<{ keyType: KeyType; prefix: string }>,
): Account {
  const publicKey = secp256k1.getPublicKey(privateKey, true);
  return { keyType, publicKey, address: addressOfKey(publicKey, { keyType, prefix }) };
}

/** Reads a private key of 64 hex digits; fails with `INVALID_ARGUMENT` that says nothing of what the file holds. */
export async function readKeyFile(file: string): Promise<Uint8Array> {
  const content = await readFile(file, 'utf8').catch((caught: unknown) => {
    throw new AppError('INVALID_ARGUMENT', `The key file ${file} cannot be read`, { cause: caught });
  });
  const digits = content.trim();
  const key = /^[\da-f]{64}$/i.test(digits) ? Uint8Array.from(Buffer.from(digits, 'hex')) : undefined;
  if (key && secp256k1.utils.isValidSecretKey(key)) return key;
  throw new AppError('INVALID_ARGUMENT', `The key file ${file} holds no private key of 64 hex digits`);
}
