import { createHash } from 'node:crypto';
import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { open, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Report } from '../commands.ts';
import { highwayHash64 } from './highway-hash.ts';

/**
 * A record of a stream's file whose sequence is false, and the one that its checksum proves; `at` is where the sequence
 * stands in the file.
 */
export type FalseSequence = Readonly<{ file: string; at: number; is: bigint; proven: bigint }>;

/**
 * Reads what lies on disk of the streams of a stopped or running nats-server, and returns the records that it would
 * never be done with: it marks each number up to a sequence as deleted, one by one, so that a flipped bit beyond the
 * lowest ones takes all memory, at its start or at the next read.
 *
 * Only what a single flipped bit did is found, for nothing else can be proven. Blocks that are full are compressed, and
 * checked as they are unpacked: they are not read here.
 */
export async function falseSequences(streams: string): Promise<readonly FalseSequence[]> {
  if (!existsSync(streams)) return [];
  const hits: FalseSequence[] = [];
  for (const stream of await readdir(streams)) {
    const folder = path.join(streams, stream, 'msgs');
    for (const name of existsSync(folder) ? await readdir(folder) : []) {
      const block = /^(\d+)\.blk$/.exec(name)?.[1];
      if (block === undefined) continue;
      const file = path.join(folder, name);
      // The server's own key of the checksums of a block.
      const key = createHash('sha256').update(`${stream}-${block}`).digest();
      hits.push(...falseRecords(await plainBlock(file), key).map((one) => ({ ...one, file })));
    }
  }
  return hits;
}

/** Writes the sequence that its checksum proves into each record that `falseSequences` finds, while no server runs. */
export async function repairSequences(streams: string, say: Report): Promise<void> {
  for (const { file, at, is, proven } of await falseSequences(streams)) {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(proven);
    await using handle = await open(file, 'r+');
    await handle.write(bytes, 0, bytes.length, at);
    await handle.sync();
    say(`damage in ${file} was repaired: a message called itself ${is}, and is ${proven} by its checksum`);
  }
}

/** Numbers that a server steps over in a moment. */
const harmlessGap = 1n << 24n;
/** A sequence that no log reaches. */
const unreached = 1n << 40n;
/** The two highest bits of a sequence mark a message that was erased, or the note that another one was. */
const markOfErased = 62n;
/** Length with the mark of headers, sequence, time, length of the subject. */
const headBytes = 22;
const sequenceAt = 4;
const checksumBytes = 8;
const hasHeaders = 0x8000_0000;

function falseRecords(block: Buffer, key: Uint8Array): Omit<FalseSequence, 'file'>[] {
  const records = [...recordsOf(block)].filter((record) => sequenceOf(record) >> markOfErased === 0n);
  const hits: Omit<FalseSequence, 'file'>[] = [];
  let last: bigint | undefined;
  for (const [index, record] of records.entries()) {
    const is = sequenceOf(record);
    const next = records[index + 1];
    const neighbour = last ?? (next && sequenceOf(next));
    if (is > (neighbour === undefined ? unreached : neighbour + harmlessGap)) {
      const likely = [is, ...(neighbour === undefined ? [] : [last === undefined ? neighbour - 1n : neighbour + 1n])];
      const proven = provenSequence(record, key, [...likely, ...withABitLess(is)]) ?? is;
      if (proven !== is) hits.push({ at: record.byteOffset - block.byteOffset + sequenceAt, is, proven });
      last = proven;
    } else last = is;
  }
  return hits;
}

const sequenceOf = (record: Buffer): bigint => record.readBigUInt64LE(sequenceAt);

const withABitLess = (sequence: bigint): bigint[] =>
  Array.from({ length: Number(markOfErased) }, (_, bit) => sequence & ~(1n << BigInt(bit)));

/** The records of a block, up to one that cannot be one. */
function* recordsOf(block: Buffer): Generator<Buffer> {
  for (let at = 0; at + headBytes <= block.length;) {
    const length = block.readUInt32LE(at) % hasHeaders;
    if (length < headBytes + checksumBytes || at + length > block.length) return;
    yield block.subarray(at, at + length);
    at += length;
  }
}

/** The first of some sequences that the checksum of a record fits. */
function provenSequence(record: Buffer, key: Uint8Array, candidates: readonly bigint[]): bigint | undefined {
  const subjectEnd = headBytes + record.readUInt16LE(headBytes - 2);
  // Between the subject and the headers stands their length, which is not summed.
  const bodyAt = record.readUInt32LE(0) < hasHeaders ? subjectEnd : subjectEnd + 4;
  const end = record.length - checksumBytes;
  if (bodyAt > end) return undefined;
  const head = record.subarray(sequenceAt, headBytes - 2);
  const summed = Buffer.concat([head, record.subarray(headBytes, subjectEnd), record.subarray(bodyAt, end)]);
  const checksum = record.readBigUInt64LE(end);
  return candidates.find((sequence) => {
    summed.writeBigUInt64LE(sequence);
    return highwayHash64(key, summed) === checksum;
  });
}

/** What a block holds; nothing where it is compressed or gone. What cannot be read its server meets itself. */
async function plainBlock(file: string): Promise<Buffer> {
  const nothing = Buffer.alloc(0);
  try {
    return isCompressed(file) ? nothing : await readFile(file);
  } catch {
    return nothing;
  }
}

function isCompressed(file: string): boolean {
  const handle = openSync(file, 'r');
  try {
    const mark = Buffer.alloc(3);
    readSync(handle, mark, 0, mark.length, 0);
    return mark.toString('latin1') === 'cmp';
  } finally {
    closeSync(handle);
  }
}
