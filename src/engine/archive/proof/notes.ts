import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import { sha256 } from './merkle.ts';

/** A key that signs notes (C2SP signed-note, Ed25519); `vkey` is the public part, as verifiers take it. */
export type NoteSigner = Readonly<{ name: string; vkey: string; sign: (text: string) => string }>;

/** A checkpoint's description of a tree (C2SP tlog-checkpoint). */
export type TreeHead = Readonly<{ origin: string; size: number; root: Uint8Array }>;

const ed25519Kind = 1;
const keyIdBytes = 4;
/** The bytes before the 32 bytes of an Ed25519 key in PKCS #8. */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');
const publicBytes = 32;

/** The public key of an Ed25519 seed. */
export function publicKeyOf(seed: Uint8Array): Uint8Array {
  const spki = createPublicKey(privateKeyOf(seed)).export({ format: 'der', type: 'spki' });
  return spki.subarray(-publicBytes);
}

/** The private key of an Ed25519 seed. */
export function privateKeyOf(seed: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.concat([pkcs8Prefix, seed]), format: 'der', type: 'pkcs8' });
}

/** Makes a signer from the 32 bytes of an Ed25519 seed; names have neither spaces nor `+`. */
export function noteSigner(name: string, seed: Uint8Array): NoteSigner {
  const key = privateKeyOf(seed);
  const tagged = Buffer.concat([Buffer.of(ed25519Kind), publicKeyOf(seed)]);
  const keyId = Buffer.from(sha256(Buffer.concat([Buffer.from(`${name}\n`), tagged])).subarray(0, keyIdBytes));
  return {
    name,
    vkey: `${name}+${keyId.toString('hex')}+${tagged.toString('base64')}`,
    sign: (text) => {
      const signature = Buffer.concat([keyId, sign(null, Buffer.from(text), key)]);
      return `${text}\n\u2014 ${name} ${signature.toString('base64')}\n`;
    },
  };
}

/** The names of those that signed a note. */
export function signersOf(note: string): string[] {
  const lines = note.slice(note.lastIndexOf('\n\n') + 2).split('\n');
  return lines.flatMap((line) => line.split(' ')[1] ?? []);
}

/** The text of a checkpoint, which its signatures are of. */
export function checkpointText({ origin, size, root }: TreeHead): string {
  return `${origin}\n${size}\n${Buffer.from(root).toString('base64')}\n`;
}

/** A proof that a leaf is in the tree of a checkpoint, in one text (C2SP tlog-proof). */
export function proofText(index: number, hashes: readonly Uint8Array[], checkpoint: string): string {
  const lines = hashes.map((hash) => `${Buffer.from(hash).toString('base64')}\n`);
  return `c2sp.org/tlog-proof@v1\nindex ${index}\n${lines.join('')}\n${checkpoint}`;
}
