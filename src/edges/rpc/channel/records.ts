import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from 'node:crypto';
import type { SessionKeys } from './session-keys.ts';

/** Which end sends: a bit of the nonce keeps the directions of one key apart. */
export type ChannelEnd = 'client' | 'server';

/** A record that is none, or was not sealed with this key and this number. */
export class BrokenRecord extends Error {}

const lengthBytes = 4;
const typeBytes = 4;
const tagBytes = 16;
const headerBytes = lengthBytes + typeBytes;
const recordType = 6;
/** The greatest length that the other end takes: all but the length itself. */
const longestRecord = 2 ** 20;
/** Larger than what the real network's own code sends, which takes four times as long for the same bytes. */
const payloadBytes = 16 * 1024;
/** The size of a connection's buffer to seal into; larger records get a buffer of their own. */
const mostHeldBytes = 256 * 1024;
const noNonce = new Uint8Array(12);
const sealing = { authTagLength: tagBytes } as const;

/**
 * Seals bytes into records: length and type, both little-endian, ciphertext, tag. Its result is valid until the next
 * call, which overwrites it.
 */
export function createSealer(keys: SessionKeys, sender: ChannelEnd): (plain: Buffer) => Buffer {
  const nextKey = recordKeys(keys, sender);
  let held = Buffer.alloc(0);
  const room = (bytes: number): Buffer => {
    if (bytes <= held.length) return held.subarray(0, bytes);
    const made = Buffer.allocUnsafeSlow(bytes);
    if (bytes <= mostHeldBytes) held = made;
    return made;
  };
  return (plain) => {
    const records = Math.ceil(plain.length / payloadBytes);
    const sealed = room(plain.length + records * (headerBytes + tagBytes));
    let at = 0;
    for (let from = 0; from < plain.length; from += payloadBytes) {
      const part = plain.subarray(from, from + payloadBytes);
      at = sealed.writeUInt32LE(typeBytes + part.length + tagBytes, at);
      at = sealed.writeUInt32LE(recordType, at);
      const cipher = createCipheriv('chacha20-poly1305', nextKey(), noNonce, sealing);
      at += cipher.update(part).copy(sealed, at);
      cipher.final();
      at += cipher.getAuthTag().copy(sealed, at);
    }
    return sealed;
  };
}

/**
 * Consumes bytes as they come and returns the payloads of the records that are complete by now; fails with
 * `BrokenRecord`.
 */
export function createOpener(keys: SessionKeys, sender: ChannelEnd): (bytes: Buffer) => Buffer[] {
  const nextKey = recordKeys(keys, sender);
  let held: Buffer[] = [];
  let heldBytes = 0;
  let neededBytes = headerBytes;
  return (bytes) => {
    held.push(bytes);
    heldBytes += bytes.length;
    if (heldBytes < neededBytes) return [];
    let rest = held.length === 1 ? bytes : Buffer.concat(held, heldBytes);
    const payloads: Buffer[] = [];
    for (neededBytes = neededOf(rest); rest.length >= neededBytes; neededBytes = neededOf(rest)) {
      payloads.push(open(rest.subarray(headerBytes, neededBytes), nextKey()));
      rest = rest.subarray(neededBytes);
    }
    held = rest.length > 0 ? [rest] : [];
    heldBytes = rest.length;
    return payloads;
  };
}

/** Size in bytes of the record that starts here; the size of a header where not even that is there. */
function neededOf(bytes: Buffer): number {
  if (bytes.length < headerBytes) return headerBytes;
  const length = bytes.readUInt32LE(0);
  if (length > longestRecord || length < typeBytes + tagBytes) throw new BrokenRecord(`A record of ${length} bytes`);
  if (bytes[lengthBytes] !== recordType) throw new BrokenRecord(`A record of type ${bytes[lengthBytes]}`);
  return lengthBytes + length;
}

function open(sealed: Buffer, key: KeyObject): Buffer {
  const decipher = createDecipheriv('chacha20-poly1305', key, noNonce, sealing);
  decipher.setAuthTag(sealed.subarray(sealed.length - tagBytes));
  const payload = decipher.update(sealed.subarray(0, sealed.length - tagBytes));
  try {
    decipher.final();
  } catch (caught) {
    throw new BrokenRecord('A record that does not open', { cause: caught });
  }
  return payload;
}

const zeros = new Uint8Array(64);
const sigma = new Uint32Array(Uint8Array.from(Buffer.from('expand 32-byte k')).buffer);

/**
 * The key of each record in turn: HChaCha20 of the session's key and the first 16 bytes of the nonce; the last 12 are
 * always zero.
 *
 * The nonce is a counter of 12 bytes, whose last byte is the direction, under the mask. OpenSSL has no HChaCha20 but
 * ChaCha20, whose block is the same permutation with its input added: this subtracts the input again. Ciphers take
 * a key as an object in a third of the time that they take its bytes.
 */
function recordKeys({ key, mask }: SessionKeys, sender: ChannelEnd): () => KeyObject {
  const sessionKey = createSecretKey(key);
  const nonce = new Uint32Array(4);
  const masks = new Uint32Array(Uint8Array.from(mask.subarray(0, 12)).buffer);
  const block = new Uint32Array(16);
  const direction = sender === 'server' ? 0x80000000 : 0;
  let low = 0;
  let high = 0;
  return () => {
    nonce.set([low ^ (masks[0] ?? 0), high ^ (masks[1] ?? 0), direction ^ (masks[2] ?? 0), 0]);
    low = (low + 1) >>> 0;
    if (low === 0) high = (high + 1) >>> 0;
    const stream = createCipheriv('chacha20', sessionKey, new Uint8Array(nonce.buffer)).update(zeros);
    new Uint8Array(block.buffer).set(stream);
    const words = Uint32Array.from({ length: 8 }, (_, at) =>
      at < 4 ? (block[at] ?? 0) - (sigma[at] ?? 0) : (block[at + 8] ?? 0) - (nonce[at - 4] ?? 0),
    );
    return createSecretKey(new Uint8Array(words.buffer));
  };
}
