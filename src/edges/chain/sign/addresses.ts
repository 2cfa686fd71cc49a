import { blake3 } from '@noble/hashes/blake3.js';
import { bech32 } from '@scure/base';

/** Prefixes of accounts and of operators. */
export const prefixes = { account: 'lumera', operator: 'lumeravaloper' } as const;

/** Bech32 text of an address. */
export function addressOf(prefix: string, bytes: Uint8Array): string {
  return bech32.encodeFromBytes(prefix, bytes);
}

/**
 * The bytes of an address with the expected prefix, or the words in which the chain refuses it.
 *
 * @example bytesOf('lumera', 'nonsense') // { problem: 'decoding bech32 failed: invalid separator index -1' }
 */
export function bytesOf(prefix: string, address: string): { bytes: Uint8Array } | { problem: string } {
  if (address.trim() === '') return { problem: 'empty address string is not allowed' };
  const separator = address.lastIndexOf('1');
  if (separator < 1 || separator + 7 > address.length)
    return { problem: `decoding bech32 failed: invalid separator index ${separator}` };
  const decoded = bech32.decodeUnsafe(toBech32(address), 200);
  if (decoded === undefined) return { problem: 'decoding bech32 failed: invalid checksum' };
  if (decoded.prefix !== prefix)
    return { problem: `hrp does not match bech32 prefix: expected '${prefix}' got '${decoded.prefix}'` };
  const bytes = bech32.fromWordsUnsafe(decoded.words);
  if (!bytes) return { problem: 'decoding bech32 failed: invalid incomplete group' };
  return bytes.length === 0 ? { problem: 'addresses cannot be empty' } : { bytes };
}

/** The 20 bytes of an account as the virtual machine writes them; undefined for an address of another length. */
export function evmAddress(account: string): `0x${string}` | undefined {
  const decoded = bytesOf(prefixes.account, account);
  return 'bytes' in decoded && decoded.bytes.length === 20
    ? `0x${Buffer.from(decoded.bytes).toString('hex')}`
    : undefined;
}

/** The account of 20 bytes, in Bech32. */
export function accountOfEvm(address: string): string {
  return addressOf(prefixes.account, Buffer.from(address.slice(2), 'hex'));
}

/** The library's type requires the separator, which the caller has seen. */
function toBech32(address: string): `${string}1${string}` {
  return address as `${string}1${string}`;
}

/** The address bytes of an operator that the chain itself let in, as hex that sorts like the bytes. */
export function operatorKey(operator: string): Buffer {
  const decoded = bytesOf(prefixes.operator, operator);
  if ('problem' in decoded) throw new Error(`${operator} is no operator address: ${decoded.problem}`);
  return Buffer.from(decoded.bytes);
}

/** Hashes of operators that the chain has accepted, which are few and needed for every finalization. */
const keyHashes = new Map<string, Uint8Array>();

/**
 * Distance of an operator from a height, as hex: BLAKE3 of the height's decimal text XOR BLAKE3 of the address bytes.
 *
 * The smaller, the higher on the list of top SuperNodes of that height.
 */
export function distance(height: number, operator: string): string {
  const ofHeight = blake3(Buffer.from(String(height)));
  const ofOperator = keyHashes.get(operator) ?? blake3(operatorKey(operator));
  keyHashes.set(operator, ofOperator);
  return Buffer.from(ofHeight.map((byte, index) => byte ^ (ofOperator[index] ?? 0))).toString('hex');
}
