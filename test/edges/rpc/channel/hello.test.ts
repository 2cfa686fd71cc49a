import { secp256k1 } from '@noble/curves/secp256k1.js';
import { describe, expect, it } from 'vitest';
import { readHello, writeHello } from '../../../../src/edges/rpc/channel/hello.ts';
import recorded from '../../../fixtures/node-status/secure-channel.json' with { type: 'json' };

const signedOf = ({ hello, signature }: { hello: string; signature: string }) => ({
  hello: Buffer.from(hello, 'hex'),
  signature: Buffer.from(signature, 'hex'),
});
const point = new Uint8Array(65).fill(4);
const keyOf = (type: 'secp256k1' | 'eth_secp256k1') => ({ type, bytes: new Uint8Array(32).fill(1) });

describe('readHello', () => {
  it.each(recorded.hellos)('takes what a real $from with a key of type $keyType sent', (one) => {
    const type = one.from === 'client' ? 'client' : 'superNode';
    expect(readHello(signedOf(one))).toMatchObject({ address: one.address, type });
  });

  it.each(['secp256k1', 'eth_secp256k1'] as const)(
    'takes ours of type %s, with and without a recovery byte',
    (type) => {
      const { hello, signature } = writeHello(keyOf(type), 'client', point);
      const read = readHello({ hello, signature });
      expect(read).toEqual({ address: expect.stringMatching(/^lumera1/), type: 'client', point });
      if (type === 'eth_secp256k1')
        expect(readHello({ hello, signature: Buffer.concat([signature, Buffer.from([1])]) })).toEqual(read);
    },
  );

  it('refuses every changed bit of a hello, and of its signature', () => {
    const { hello, signature } = writeHello(keyOf('eth_secp256k1'), 'client', point);
    const flipped = (bytes: Uint8Array, at: number) => bytes.map((byte, index) => (index === at ? byte ^ 4 : byte));
    for (let at = 0; at < hello.length; at += 5)
      expect(() => readHello({ hello: flipped(hello, at), signature })).toThrow('is refused');
    for (let at = 0; at < 64; at += 7)
      expect(() => readHello({ hello, signature: flipped(signature, at) })).toThrow('is refused');
  });

  it('refuses a high s, a digest of the other type, and what is no hello', () => {
    const { hello, signature } = writeHello(keyOf('eth_secp256k1'), 'client', point);
    const { r, s } = secp256k1.Signature.fromBytes(signature);
    const high = new secp256k1.Signature(r, secp256k1.Point.CURVE().n - s).toBytes();
    const other = secp256k1.sign(hello, new Uint8Array(32).fill(1));
    for (const wrong of [high, other, new Uint8Array(), new Uint8Array(64)])
      expect(() => readHello({ hello, signature: wrong })).toThrow('is refused');
    for (const wrong of ['', 'ff', '0a05', '08011003'])
      expect(() => readHello({ hello: Buffer.from(wrong, 'hex'), signature })).toThrow('is refused');
  });
});
