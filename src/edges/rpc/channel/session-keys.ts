import { type ECDH, hkdfSync } from 'node:crypto';
import { AppError } from '../../../kit/errors.ts';

/** Key and nonce mask of a channel, the same for both directions. */
export type SessionKeys = Readonly<{ key: Uint8Array; mask: Uint8Array }>;

/** Which end is which: both addresses go into the key. */
export type Ends = Readonly<{ client: string; server: string }>;

const protocol = 'ALTSRP_XCHACHA20_POLY1305_REKEY';
const keyBytes = 32;
const maskBytes = 24;
const uncompressedBytes = 65;

/**
 * The keys of a channel from the secret that both ends have in common.
 *
 * Despite the protocol's name nothing is ever keyed anew.
 */
export function sessionKeys(secret: Uint8Array, { client, server }: Ends): SessionKeys {
  const info = `${protocol}-${client}-${server}`;
  const expanded = new Uint8Array(hkdfSync('sha256', secret, new Uint8Array(), info, keyBytes + maskBytes));
  return { key: expanded.subarray(0, keyBytes), mask: expanded.subarray(keyBytes) };
}

/**
 * The common secret of one side's fresh key and the other's point; fails with `UNAUTHORIZED` where the point is none,
 * uncompressed, of the curve.
 */
export function commonSecret(ephemeral: ECDH, point: Uint8Array): Uint8Array {
  try {
    if (point.length === uncompressedBytes) return ephemeral.computeSecret(point);
  } catch {
    // Falls through to the one refusal.
  }
  throw new AppError('UNAUTHORIZED', 'The point of a secure channel is none of P-256');
}
