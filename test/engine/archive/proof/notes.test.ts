import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { checkProof, openCheckpoint, openNote } from '../../../../src/edges/http/pages/public/verify.js';
import { checkpointText, noteSigner, proofText } from '../../../../src/engine/archive/proof/notes.ts';
import { naivePath, naiveRoot } from './naive-tree.ts';

/** The example in the documentation of Go's package `golang.org/x/mod/sumdb/note`. */
const published = {
  vkey: 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW',
  text: "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n",
  signature:
    '\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n',
};
const seed = createHash('sha256').update('a key of a test').digest();
const origin = 'annals-0011223344556677/devnet/ACTIONS/2026-11-24T00:00:00Z';

describe('openNote', () => {
  it('accepts a published note', async () => {
    expect(await openNote(`${published.text}\n${published.signature}`, published.vkey)).toBe(published.text);
  });

  it('refuses a changed text, signature, key or form', async () => {
    const { vkey, sign } = noteSigner(origin, seed);
    const note = sign('one\ntwo\n');
    expect(await openNote(note, vkey)).toBe('one\ntwo\n');
    const other = noteSigner(origin, createHash('sha256').update('another').digest());
    await expect(openNote(note.replace('two', 'TWO'), vkey)).rejects.toThrow('not of this text');
    await expect(openNote(note, other.vkey)).rejects.toThrow('no signature');
    await expect(openNote(note, vkey.replace(/\+[\da-f]{8}\+/, '+00000000+'))).rejects.toThrow('id of the key');
    await expect(openNote('one\n', vkey)).rejects.toThrow('no signed note');
    await expect(openNote(note, 'key')).rejects.toThrow('not of the form');
  });

  it('takes the line of its own signer among others', async () => {
    const { vkey, sign } = noteSigner(origin, seed);
    const [body = '', own = ''] = sign('one\n').split('\n\n');
    const note = `${body}\n\n${published.signature}${own}`;
    expect(await openNote(note, vkey)).toBe('one\n');
  });
});

describe('checkProof', () => {
  const events = Array.from({ length: 11 }, (_, at) => Buffer.from(`{"number":${at}}`));
  const entries = events.map((event) => createHash('sha256').update(event).digest());
  const root = naiveRoot(entries);

  it('accepts the proof of an event in a checkpoint, and refuses it for other bytes or another key', async () => {
    const { vkey, sign } = noteSigner(origin, seed);
    const checkpoint = sign(checkpointText({ origin, size: 11, root }));
    expect(await openCheckpoint(checkpoint, vkey)).toEqual({ origin, size: 11, root: Uint8Array.from(root) });
    const proof = proofText(6, naivePath(6, entries), checkpoint);
    const event = events[6] ?? Buffer.alloc(0);
    expect(await checkProof(proof, event, vkey)).toEqual({ origin, index: 6, size: 11 });
    await expect(checkProof(proof, Buffer.from('{"number":7}'), vkey)).rejects.toThrow('root of the checkpoint');
    await expect(checkProof(proof.replace('index 6', 'index 5'), event, vkey)).rejects.toThrow(
      'root of the checkpoint',
    );
    await expect(checkProof(proof, event, noteSigner('other', seed).vkey)).rejects.toThrow('no signature');
    await expect(checkProof('index 6\n', event, vkey)).rejects.toThrow('no proof');
  });
});
