import { setLengthLeft } from '@ethereumjs/util';
import secp256k1 from 'secp256k1';

/**
 * The public key (64 bytes) of a signature, by the native library: ten times faster than JavaScript, and the largest
 * part of what a plain transfer costs.
 *
 * Throws for signatures without a key, as the library that calls it expects.
 */
export function recoverKey(hash: Uint8Array, v: bigint, r: Uint8Array, s: Uint8Array, chainId?: bigint): Uint8Array {
  const signature = new Uint8Array(64);
  signature.set(setLengthLeft(r, 32), 0);
  signature.set(setLengthLeft(s, 32), 32);
  return secp256k1.ecdsaRecover(signature, recoveryOf(v, chainId), hash, false).slice(1);
}

function recoveryOf(v: bigint, chainId: bigint | undefined): number {
  const recovery = Number(v === 0n || v === 1n ? v : chainId === undefined ? v - 27n : v - 35n - 2n * chainId);
  if (recovery !== 0 && recovery !== 1) throw new Error('Invalid signature v value');
  return recovery;
}
