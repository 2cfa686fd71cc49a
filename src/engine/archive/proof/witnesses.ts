import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { Unfit } from '../../../kit/setting-forms.ts';
import { sha256 } from './merkle.ts';

/** Another party that signs checkpoints which extend every one that it has signed before (C2SP tlog-witness). */
export type Witness = Readonly<{ name: string; keyId: Buffer; key: KeyObject; url: string }>;

/** A checkpoint for witnesses, and the proof that it extends the tree of a smaller one. */
export type Extension = Readonly<{
  origin: string;
  size: number;
  note: string;
  proofFrom: (size: number) => Promise<readonly Uint8Array[]>;
}>;

/**
 * What a witness says: a line for the checkpoint, why there is none this time (undefined where that was told already),
 * or that the log has shown it another tree before.
 */
export type CosignOutcome =
  Readonly<{ line: string }> | Readonly<{ failure: string | undefined }> | Readonly<{ fork: string }>;

/** Has one witness sign a checkpoint; never fails. */
export type Cosign = (witness: Witness, extension: Extension) => Promise<CosignOutcome>;

const cosignatureKind = 4;
const keyIdBytes = 4;
const timeBytes = 8;
const publicBytes = 32;
/** The bytes before the 32 bytes of an Ed25519 public key in SPKI. */
const spkiPrefix = Buffer.from('302a300506032b6570032100', 'hex');
const withinMs = 5_000;
/** A witness that does not answer is asked again after so long, so that it holds up no checkpoint. */
const leftAloneMs = 30_000;
const mostAnswerBytes = 16_384;

/** Reads the setting WITNESSES: `<vkey> <url>`, separated by commas. */
export function parseWitnesses(value: string): readonly Witness[] {
  return value
    .split(',')
    .map((text) => text.trim())
    .filter((text) => text !== '')
    .map(parseWitness);
}

function parseWitness(text: string): Witness {
  const [, name = '', id = '', encoded = '', url = ''] =
    /^([^\s+]+)\+([\da-f]{8})\+(\S+) +(https?:\/\/\S+)$/.exec(text) ?? [];
  const tagged = Buffer.from(encoded, 'base64');
  const keyId = keyIdOf(name, tagged);
  const isKey = tagged.length === 1 + publicBytes && tagged[0] === cosignatureKind && keyId.toString('hex') === id;
  if (!isKey || !URL.canParse(url))
    throw new Unfit(
      'a witness’s key (name+id+base64) and its address each, such as w.example+1a2b3c4d+BA… https://w.example',
    );
  const key = createPublicKey({ key: Buffer.concat([spkiPrefix, tagged.subarray(1)]), format: 'der', type: 'spki' });
  return { name, keyId, key, url: url.replace(/\/$/, '') };
}

function keyIdOf(name: string, tagged: Uint8Array): Buffer {
  return Buffer.from(sha256(Buffer.concat([Buffer.from(`${name}\n`), tagged])).subarray(0, keyIdBytes));
}

/** The text of a note, which its signatures are of. */
function textOf(note: string): string {
  return note.slice(0, note.lastIndexOf('\n\n') + 1);
}

/** Asks witnesses over HTTP, and remembers for each log the size that each of them signed last. */
export function createWitnesses(): Cosign {
  const sizes = new Map<string, number>();
  const awayUntilMs = new Map<string, number>();
  const attempt = async (witness: Witness, extension: Extension, old: number): Promise<CosignOutcome | number> => {
    const { origin, size, note } = extension;
    const proof = (await extension.proofFrom(old)).map((hash) => `${Buffer.from(hash).toString('base64')}\n`);
    const answer = await fetch(`${witness.url}/add-checkpoint`, {
      method: 'POST',
      body: `old ${old}\n${proof.join('')}\n${note}`,
      redirect: 'error',
      signal: AbortSignal.timeout(withinMs),
    });
    const text = await boundedText(answer);
    if (answer.status === 200) {
      const line = text.split('\n').find((one) => isCosignature(one, witness, note));
      if (line === undefined) return { failure: `${witness.name} answered with no signature of its key.` };
      sizes.set(`${witness.name} ${origin}`, size);
      return { line: `${line}\n` };
    }
    if (answer.status === 409 && /^\d{1,15}\n?$/.test(text)) {
      const known = Number(text);
      if (known > size)
        return { fork: `${witness.name} has signed ${known} events of this log, and it has ${size} now.` };
      return known;
    }
    if (answer.status === 422)
      return { fork: `${witness.name} has signed another tree of this log: the checkpoint does not extend it.` };
    return { failure: `${witness.name} answered ${answer.status}.` };
  };
  return async (witness, extension) => {
    if (performance.now() < (awayUntilMs.get(witness.name) ?? 0)) return { failure: undefined };
    try {
      const known = sizes.get(`${witness.name} ${extension.origin}`) ?? 0;
      const first = await attempt(witness, extension, Math.min(known, extension.size));
      const outcome = typeof first === 'number' ? await attempt(witness, extension, first) : first;
      return typeof outcome === 'number' ? { failure: `${witness.name} names another size each time.` } : outcome;
    } catch (caught) {
      awayUntilMs.set(witness.name, performance.now() + leftAloneMs);
      return {
        failure: `${witness.name} does not answer: ${caught instanceof Error ? caught.message : String(caught)}`,
      };
    }
  };
}

/** Whether a line is a witness's signature of a note (C2SP tlog-cosignature, Ed25519). */
function isCosignature(line: string, { name, keyId, key }: Witness, note: string): boolean {
  const [dash, signer, encoded = ''] = line.split(' ');
  if (dash !== '\u2014' || signer !== name) return false;
  const bytes = Buffer.from(encoded, 'base64');
  if (bytes.length <= keyIdBytes + timeBytes || !bytes.subarray(0, keyIdBytes).equals(keyId)) return false;
  const time = bytes.readBigUInt64BE(keyIdBytes);
  const signed = Buffer.from(`cosignature/v1\ntime ${time}\n${textOf(note)}`);
  return verify(null, signed, key, bytes.subarray(keyIdBytes + timeBytes));
}

/** The first bytes of an answer as text; more than any witness has to say is an error. */
async function boundedText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > mostAnswerBytes) throw new Error('its answer is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
