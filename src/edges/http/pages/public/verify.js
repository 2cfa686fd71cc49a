/**
 * Checks proofs of a log that are served as C2SP tlog-tiles, in a browser or in Node.js, with nothing but WebCrypto
 * (in browsers over https or loopback): signed notes (Ed25519), inclusion and consistency (RFC 6962).
 *
 * Each function fails with the reason where something does not hold.
 */
const text = new TextEncoder();
const ed25519Kind = 1;
const keyIdBytes = 4;

/** SHA-256 of bytes. */
export async function sha256(...parts) {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', concat(parts)));
}

/** The entry of an event in its log: the hash of its bytes. */
export const entryOf = (eventBytes) => sha256(eventBytes);

const leafHash = (entry) => sha256(Uint8Array.of(0), entry);
const nodeHash = (left, right) => sha256(Uint8Array.of(1), left, right);

/** Checks the signature of a note by the key `name+id+base64`, and returns the signed text. */
export async function openNote(note, vkey) {
  const end = note.lastIndexOf('\n\n');
  if (end < 0 || !note.endsWith('\n')) throw new Error('This is no signed note.');
  const signed = note.slice(0, end + 1);
  const { name, id, key } = await parseKey(vkey);
  for (const line of note.slice(end + 2, -1).split('\n')) {
    const [dash, signer, signature] = line.split(' ');
    if (dash !== '\u2014' || signature === undefined) throw new Error('A signature line of the note cannot be read.');
    const bytes = fromBase64(signature);
    if (signer !== name || !isSame(bytes.subarray(0, keyIdBytes), id)) continue;
    const isSigned = await crypto.subtle.verify('Ed25519', key, bytes.subarray(keyIdBytes), text.encode(signed));
    if (!isSigned) throw new Error(`The signature of ${name} is not of this text.`);
    return signed;
  }
  throw new Error(`The note has no signature of ${name}.`);
}

async function parseKey(vkey) {
  const [, name, idText, keyText] = /^([^\s+]+)\+([\da-f]{8})\+(\S+)$/.exec(vkey.trim()) ?? [];
  if (name === undefined) throw new Error('The key is not of the form name+id+base64.');
  const tagged = fromBase64(keyText);
  const id = (await sha256(text.encode(`${name}\n`), tagged)).subarray(0, keyIdBytes);
  if (toHex(id) !== idText) throw new Error('The id of the key is not that of its name and bytes.');
  if (tagged[0] !== ed25519Kind || tagged.length !== 33) throw new Error('The key is none of Ed25519.');
  return { name, id, key: await crypto.subtle.importKey('raw', tagged.subarray(1), 'Ed25519', false, ['verify']) };
}

/** Checks a checkpoint by the key of its log: `{ origin, size, root }`. */
export async function openCheckpoint(note, vkey) {
  const [origin, size, root] = (await openNote(note, vkey)).split('\n');
  if (origin !== vkey.trim().split('+')[0]) throw new Error('The checkpoint is of another log than the key.');
  if (!/^(0|[1-9]\d{0,15})$/.test(size) || root === undefined) throw new Error('The checkpoint cannot be read.');
  return { origin, size: Number(size), root: fromBase64(root) };
}

/** Checks that a tree has an entry at an index (RFC 9162, 2.1.3.2). */
export async function checkInclusion({ entry, index, hashes, size, root }) {
  if (!(index >= 0 && index < size)) throw new Error(`The tree of ${size} leaves has none at ${index}.`);
  let [at, last] = [index, size - 1];
  let hash = await leafHash(entry);
  for (const other of hashes) {
    if (last === 0) throw new Error('The proof is too long.');
    if (at % 2 === 1 || at === last) {
      hash = await nodeHash(other, hash);
      while (at % 2 === 0 && at !== 0) [at, last] = [half(at), half(last)];
    } else {
      hash = await nodeHash(hash, other);
    }
    [at, last] = [half(at), half(last)];
  }
  if (last !== 0) throw new Error('The proof is too short.');
  if (!isSame(hash, root)) throw new Error('The proof does not lead to the root of the checkpoint.');
}

/** Checks that a tree starts with a smaller one (RFC 9162, 2.1.4.2). */
export async function checkConsistency({ old, size, oldRoot, root, hashes }) {
  if (old > size) throw new Error(`A tree of ${size} leaves cannot begin with one of ${old}.`);
  if (old === 0 || old === size) {
    if (hashes.length > 0) throw new Error('The proof is too long.');
    if (old === size && !isSame(oldRoot, root)) throw new Error('Two trees of one size have different roots.');
    return;
  }
  const path = isPowerOfTwo(old) ? [oldRoot, ...hashes] : [...hashes];
  let [at, last] = [old - 1, size - 1];
  while (at % 2 === 1) [at, last] = [half(at), half(last)];
  const [first, ...rest] = path;
  if (first === undefined) throw new Error('The proof is too short.');
  let [before, now] = [first, first];
  for (const other of rest) {
    if (last === 0) throw new Error('The proof is too long.');
    if (at % 2 === 1 || at === last) {
      [before, now] = [await nodeHash(other, before), await nodeHash(other, now)];
      while (at % 2 === 0 && at !== 0) [at, last] = [half(at), half(last)];
    } else {
      now = await nodeHash(now, other);
    }
    [at, last] = [half(at), half(last)];
  }
  if (last !== 0) throw new Error('The proof is too short.');
  if (!isSame(before, oldRoot)) throw new Error('The proof does not lead to the root of the smaller tree.');
  if (!isSame(now, root)) throw new Error('The proof does not lead to the root of the larger tree.');
}

/**
 * Checks a text of C2SP tlog-proof for an event: that the log which the key belongs to has these bytes. Returns its
 * position: `{ origin, index, size }`.
 */
export async function checkProof(proof, eventBytes, vkey) {
  const [, indexText, path, checkpoint] =
    /^c2sp\.org\/tlog-proof@v1\n(?:extra \S+\n)?index (0|[1-9]\d{0,15})\n((?:[\w+/]{43}=\n)*)\n([^]+)$/.exec(proof) ??
    [];
  if (indexText === undefined) throw new Error('This is no proof of the form c2sp.org/tlog-proof@v1.');
  const { origin, size, root } = await openCheckpoint(checkpoint, vkey);
  const hashes = path.split('\n').slice(0, -1).map(fromBase64);
  const index = Number(indexText);
  await checkInclusion({ entry: await entryOf(eventBytes), index, hashes, size, root });
  return { origin, index, size };
}

const isPowerOfTwo = (number) => (number % 2 === 0 ? isPowerOfTwo(number / 2) : number === 1);
const half = (number) => Math.floor(number / 2);
const isSame = (a, b) => a.length === b.length && a.every((byte, at) => byte === b[at]);
const toHex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
const fromBase64 = (base64) => Uint8Array.from(atob(base64), (character) => character.codePointAt(0));

function concat(parts) {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
