import type { CustomCrypto } from '@ethereumjs/common';
import { hexToBytes } from '@ethereumjs/util';
import { bls12_381 } from '@noble/curves/bls12-381.js';

type Kzg = NonNullable<CustomCrypto['kzg']>;

/** The second power of tau in G2, from the ceremony's public result: all that checking one proof needs. */
const tau = bls12_381.G2.Point.fromHex(
  'b5bfd7dd8cdeb128843bc287230af38926187075cbfbefa81009a2ce615ac53d2914e5870cb452d2afaaab24f3499f72' +
    '185cbfee53492714734429b7b38608e23926c911cceceac9a36851477ba4c60b087041de621000edc98edada20c1def2',
);
const { Fr } = bls12_381.fields;

/**
 * What blocks need of KZG: the point evaluation contract's check of one proof.
 *
 * Blobs themselves never come into a block, and nothing here takes any in: all other functions throw.
 */
export const kzg: Kzg = {
  verifyProof,
  blobToKzgCommitment: unsupported,
  computeBlobProof: unsupported,
  verifyBlobProofBatch: unsupported,
  computeCells: unsupported,
  computeCellsAndProofs: unsupported,
  recoverCellsAndProofs: unsupported,
  verifyCellKzgProofBatch: unsupported,
};

function unsupported(): never {
  throw new Error('blobs are not taken in');
}

/** True when the polynomial behind the commitment has the value y at z: e(C - y, H) = e(proof, tau - z). */
function verifyProof(commitment: string, z: string, y: string, proof: string): boolean {
  const g1 = bls12_381.G1.Point;
  const g2 = bls12_381.G2.Point;
  const at = scalar(z);
  const value = scalar(y);
  const left = g1.fromHex(bare(commitment)).subtract(times(g1.BASE, value));
  const right = tau.subtract(times(g2.BASE, at));
  const pairs = [
    { g1: left, g2: g2.BASE.negate() },
    { g1: g1.fromHex(bare(proof)), g2: right },
  ].filter((pair) => !pair.g1.is0() && !pair.g2.is0());
  const { Fp12 } = bls12_381.fields;
  return Fp12.eql(bls12_381.pairingBatch(pairs), Fp12.ONE);
}

const bare = (hex: string): string => hex.replace(/^0x/, '');

function scalar(hex: string): bigint {
  const value = BigInt(`0x${bare(hex)}`);
  if (value >= Fr.ORDER || hexToBytes(`0x${bare(hex)}`).length !== 32) throw new Error('not a field element');
  return value;
}

const times = <P extends Readonly<{ multiply: (by: bigint) => P; subtract: (other: P) => P }>>(
  point: P,
  by: bigint,
): P => (by === 0n ? point.subtract(point) : point.multiply(by));
