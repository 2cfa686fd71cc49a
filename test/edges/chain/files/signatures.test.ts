import { describe, expect, test } from 'vitest';
import { adr036SignBytes, isSignedBy } from '../../../../src/edges/chain/files/signatures.ts';
import { accountOf, type PrivateKey, publicKeyOf, sign } from '../../../../src/edges/chain/sign/keys.ts';

const bytes = new Uint8Array(32).fill(1);
const keys = {
  cosmos: { type: 'secp256k1', bytes },
  ethereum: { type: 'eth_secp256k1', bytes },
} as const satisfies Record<string, PrivateKey>;
const dataHash = 'ZDezrDhGUTP/tjt1JzqNtUjFWEZdedsD/TWcbNW9nYU=';
const adr036 = 'T6GI3sUl3jck4qEQ5SPXdRqjKDFHmLOjKBRp/SW9wdsb5ew4C53oOVa06mylXXiQ3jp99EGi6FrLOOTGng3jcg==';
const raw = 'rptvn07Y/R/oum65XIsUwGwCZS2dyTxtaHlHycYXbXU8oOb6ADTQny5Zkk2Ln+ACgXkZxoFFP76PpkpmywKR+Q==';
const keccak = 'cwpFu3S7lOdlIS1wd3C4NM+jBzeS0pXUQFn5rPDmj09Tnw1PcvGvUy1NGp1z5hZUiRl+ZUMT5qeVlb3etL1YuA==';
const download = 'g+irwmBQ2EEQ6oFnCMUQ9tjNEFq3QW50Ej+QZ1pdvT1t3KnvVpak3+fHi8VU0SW8a0KBD1Es7FazWTvxI+eAeA==';

describe('keys', () => {
  test('give the addresses that wallets give', () => {
    expect(publicKeyOf(keys.cosmos).key).toBe('AxuExVZ7EmRAmV0+1aq6BWXXHhg0YEgZ/5wX9enV3QeP');
    expect(accountOf(publicKeyOf(keys.cosmos))).toBe('lumera10xcqpzrky6eff2g52qdye53xkk9jxkvrel68w3');
    expect(accountOf(publicKeyOf(keys.ethereum))).toBe('lumera1rfjz7r3u8t65teavh5utquj3kwvsj983mrr6xz');
  });
});

describe('isSignedBy', () => {
  const cosmos = publicKeyOf(keys.cosmos);
  const ethereum = publicKeyOf(keys.ethereum);

  test.each([
    ['ADR-036', cosmos, dataHash, adr036],
    ['the raw text', cosmos, dataHash, raw],
    ['ADR-036 by Keccak', ethereum, dataHash, keccak],
    ['a download', cosmos, '7', download],
  ])('takes what wallets sign: %s', (_, key, text, signature) => {
    expect(isSignedBy(key, text, signature)).toBe(true);
  });

  test(
    'takes every form that is told, by both kinds of keys, and none of them with anything changed',
    { tags: ['S3.signature.encodings', 'S3.signature.refused', 'C8.9'] },
    () => {
      let [taken, refused] = [0, 0];
      for (const own of [keys.cosmos, keys.ethereum]) {
        const key = publicKeyOf(own);
        for (const signed of [Buffer.from(dataHash), adr036SignBytes(dataHash, accountOf(key))]) {
          const pair = Buffer.from(sign(own, signed));
          const ids = own.type === 'eth_secp256k1' ? [1, 27] : [];
          const recoverable = ids.map((id) => Buffer.concat([pair, Buffer.of(id)]));
          for (const form of [pair, Buffer.from(derOf(pair), 'base64'), ...recoverable]) {
            expect(isSignedBy(key, dataHash, form.toString('base64'))).toBe(true);
            taken += 1;
            const judged = mutationsOf(form).map((changed) => isSignedBy(key, dataHash, changed.toString('base64')));
            expect(judged).not.toContain(true);
            refused += judged.length;
          }
        }
      }
      expect([taken, refused]).toEqual([12, 384]);
    },
  );

  test('takes DER, and the recovery byte of an Ethereum wallet', { tags: ['S3.signature.encodings'] }, () => {
    const pair = sign(keys.cosmos, Buffer.from('7'));
    expect(isSignedBy(cosmos, '7', derOf(pair))).toBe(true);
    const withRecovery = Buffer.concat([sign(keys.ethereum, adr036SignBytes('7', accountOf(ethereum))), Buffer.of(1)]);
    expect(isSignedBy(ethereum, '7', withRecovery.toString('base64'))).toBe(true);
  });

  test('refuses every signature with a changed bit', () => {
    for (const [key, signature] of [
      [cosmos, adr036],
      [cosmos, raw],
      [ethereum, keccak],
    ] as const)
      for (let bit = 0; bit < 512; bit += 5) {
        const broken = Buffer.from(signature, 'base64');
        broken[bit >> 3] = (broken[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        expect(isSignedBy(key, dataHash, broken.toString('base64'))).toBe(false);
      }
  });

  test(
    'refuses a high s, another text, another key, another curve form and what is no signature',
    { tags: ['S3.signature.refused'] },
    () => {
      const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
      const pair = Buffer.from(raw, 'base64');
      const high = order - BigInt(`0x${pair.subarray(32).toString('hex')}`);
      const highS = Buffer.concat([pair.subarray(0, 32), Buffer.from(high.toString(16).padStart(64, '0'), 'hex')]);
      expect(isSignedBy(cosmos, dataHash, highS.toString('base64'))).toBe(false);
      expect(isSignedBy(cosmos, `${dataHash} `, raw)).toBe(false);
      expect(isSignedBy(ethereum, dataHash, raw)).toBe(false);
      for (const none of [
        '',
        '=',
        '****',
        'AAAA',
        Buffer.alloc(64).toString('base64'),
        Buffer.alloc(65, 255).toString('base64'),
        'A'.repeat(400),
      ])
        expect(isSignedBy(cosmos, dataHash, none)).toBe(false);
    },
  );

  test('takes one form of base64 and the recovery bytes that there are', { tags: ['S3.signature.refused'] }, () => {
    // The last letter before the padding has four bits that no byte holds: 15 others would say the same.
    const other = `${raw.slice(0, -3)}${String.fromCodePoint((raw.codePointAt(raw.length - 3) ?? 0) + 1)}==`;
    expect(Buffer.from(other, 'base64').equals(Buffer.from(raw, 'base64'))).toBe(true);
    for (const none of [other, raw.replace(/=+$/, ''), raw.replaceAll('+', '-'), ` ${raw}`, `${raw}\n`])
      expect(isSignedBy(cosmos, dataHash, none)).toBe(false);
    const pair = Buffer.from(keccak, 'base64');
    const recovered = (id: number) => Buffer.concat([pair, Buffer.of(id)]).toString('base64');
    expect([0, 1, 27, 28].map((id) => isSignedBy(ethereum, dataHash, recovered(id)))).not.toContain(false);
    expect([2, 26, 29, 255].map((id) => isSignedBy(ethereum, dataHash, recovered(id)))).not.toContain(true);
    const ofCosmos = Buffer.concat([Buffer.from(raw, 'base64'), Buffer.of(0)]).toString('base64');
    expect(isSignedBy(cosmos, dataHash, ofCosmos)).toBe(false);
  });

  test('takes ADR-036 alone where that is asked', { tags: ['S3.signature.strict'] }, () => {
    expect(isSignedBy(cosmos, dataHash, raw, 'adr036')).toBe(false);
    expect(isSignedBy(cosmos, dataHash, adr036, 'adr036')).toBe(true);
  });
});

/** A signature with one of its bytes changed, every other one of the first 64 in turn. */
function mutationsOf(form: Buffer): Buffer[] {
  return Array.from({ length: Math.min(form.length, 64) / 2 }, (_, half) => {
    const changed = Buffer.from(form);
    changed[half * 2] = (changed[half * 2] ?? 0) ^ (1 + half);
    return changed;
  });
}

/** DER of r‖s, written anew here. */
function derOf(pair: Uint8Array): string {
  const integer = (part: Uint8Array): Buffer => {
    const trimmed = Buffer.from(part.subarray(part.findIndex((byte) => byte !== 0)));
    const value = (trimmed[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.of(0), trimmed]) : trimmed;
    return Buffer.concat([Buffer.of(2, value.length), value]);
  };
  const body = Buffer.concat([integer(pair.subarray(0, 32)), integer(pair.subarray(32))]);
  return Buffer.concat([Buffer.of(0x30, body.length), body]).toString('base64');
}
