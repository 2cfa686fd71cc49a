import { createHash } from 'node:crypto';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { expect, it } from 'vitest';
import { isPrivateKey, isPublicKey, publicKeyOf, sign, verify } from '../../../../src/edges/chain/sign/keys.ts';

const hashOf = (text: string): Uint8Array => new Uint8Array(createHash('sha256').update(text).digest());
const texts = Array.from({ length: 50 }, (_, at) => `key ${at}`);

it('makes the keys and signatures that another library makes', () => {
  for (const text of texts) {
    const key = { type: 'secp256k1', bytes: hashOf(text) } as const;
    const message = Buffer.from(`message of ${text}`);
    const signature = sign(key, message);
    expect(publicKeyOf(key).key).toBe(Buffer.from(secp256k1.getPublicKey(key.bytes)).toString('base64'));
    expect(signature).toEqual(secp256k1.sign(hashOf(message.toString()), key.bytes, { prehash: false }));
    expect(verify(publicKeyOf(key), message, signature)).toBe(true);
  }
});

it('takes for points of the curve what another library takes for them', () => {
  const points = texts.flatMap((text) => [0, 2, 3, 4, 6].map((head) => Uint8Array.of(head, ...hashOf(text))));
  const judged = points.map(isPublicKey);
  expect(judged).toEqual(points.map((bytes) => secp256k1.utils.isValidPublicKey(bytes, true)));
  expect(new Set(judged)).toEqual(new Set([true, false]));
  expect(isPublicKey(secp256k1.getPublicKey(hashOf('key'), false))).toBe(false);
});

it('takes 32 bytes from 1 to below the order of the curve for a private key, and no others', () => {
  const order = secp256k1.Point.Fn.ORDER;
  const bytes = (number: bigint): Uint8Array => Buffer.from(number.toString(16).padStart(64, '0'), 'hex');
  expect([1n, order - 1n].map((number) => isPrivateKey(bytes(number)))).toEqual([true, true]);
  expect([0n, order].map((number) => isPrivateKey(bytes(number)))).toEqual([false, false]);
  expect([0, 31, 33].map((length) => isPrivateKey(new Uint8Array(length).fill(1)))).toEqual([false, false, false]);
});
