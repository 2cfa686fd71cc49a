import { createPublicKey, verify } from 'node:crypto';
import { naiveRoot } from '../../../engine/archive/proof/naive-tree.ts';

/** A checkpoint as an API showed it. */
export type SignedNote = Readonly<{ stream: string; vkey: string; note: string }>;

/** The checkpoints of all public logs that are signed now; none where the API does not answer. */
export async function signedNotes(base: string): Promise<SignedNote[]> {
  const answer = await fetch(`${base}/v1/logs`);
  if (!answer.ok) return [];
  const { logs } = (await answer.json()) as { logs: { stream: string; vkey: string }[] };
  const notes = await Promise.all(
    logs.map(async ({ stream, vkey }) => {
      const response = await fetch(`${base}/log/${stream}/checkpoint`);
      return response.ok ? [{ stream, vkey, note: await response.text() }] : [];
    }),
  );
  return notes.flat();
}

/**
 * What does not hold of checkpoints that were seen one after another, the last of them just now: each is signed by one
 * and the same key and origin of its log, none is smaller than one before it, and the events that the log has now lead
 * to the root of each.
 *
 * Everything is computed here from entries, by RFC 6962 word by word, with none of the product's code.
 */
export async function faultsOf(base: string, notes: readonly SignedNote[]): Promise<string[]> {
  const faults: string[] = [];
  for (const [stream, own] of Map.groupBy(notes, (one) => one.stream)) {
    const parsed = own.map(({ note }) => parseNote(note));
    const sizes = parsed.map(({ size }) => size);
    const entries = await entriesOf(base, stream, Math.max(...sizes));
    if (new Set(own.map(({ vkey }) => vkey)).size !== 1) faults.push(`${stream} has several keys`);
    if (new Set(parsed.map(({ origin }) => origin)).size !== 1) faults.push(`${stream} has several origins`);
    if (sizes.some((size, at) => size < (sizes[at - 1] ?? 0))) faults.push(`${stream} has shrunk: ${sizes.join()}`);
    const roots = new Map(sizes.map((size) => [size, naiveRoot(entries.slice(0, size)).toString('base64')]));
    for (const [at, { size, root, isSigned }] of parsed.entries()) {
      if (!isSigned(own[at]?.vkey ?? '')) faults.push(`${stream} at ${size} is not signed by its key`);
      if (roots.get(size) !== root) faults.push(`${stream} at ${size} is no beginning of what it is now`);
    }
  }
  return faults;
}

function parseNote(note: string) {
  const text = note.slice(0, note.indexOf('\n\n') + 1);
  const [origin = '', size = '', root = ''] = text.split('\n');
  const start = `\u2014 ${origin} `;
  const line = note.split('\n').find((one) => one.startsWith(start)) ?? start;
  const signature = Buffer.from(line.slice(start.length), 'base64').subarray(4);
  const isSigned = (vkey: string): boolean => {
    const key = Buffer.from(/^[^+]+\+[0-9a-f]{8}\+(.+)$/.exec(vkey.trim())?.[1] ?? '', 'base64').subarray(1);
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: key.toString('base64url') };
    return verify(null, Buffer.from(text), createPublicKey({ format: 'jwk', key: jwk }), signature);
  };
  return { origin, size: Number(size), root, isSigned };
}

async function entriesOf(base: string, stream: string, size: number): Promise<Buffer[]> {
  const entries: Buffer[] = [];
  for (let n = 0; n * 256 < size; n++) {
    const width = Math.min(256, size - n * 256);
    const path = `${String(n).padStart(3, '0')}${width < 256 ? `.p/${width}` : ''}`;
    const response = await fetch(`${base}/log/${stream}/tile/entries/${path}`);
    const bytes = Buffer.from(await response.arrayBuffer());
    for (let at = 0; at < bytes.length; at += 34) entries.push(bytes.subarray(at + 2, at + 34));
  }
  return entries;
}
