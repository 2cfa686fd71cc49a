import { open, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Say } from '../commands.ts';

/** A record of a block file whose number cannot be that of its place; `seq` is the one that it must have been written with. */
export type WrongHead = Readonly<{ file: string; at: number; seq: bigint; found: bigint }>;

type Head = Readonly<{ file: string; at: number; seq: bigint }>;

/** A record is its length (4 bytes), number (8), time (8), length of subject (2), subject, headers, body and checksum (8). */
const headBytes = 22;
const checksumBytes = 8;
const erased = 1n << 63n;
/** Set where a record only says that another one was deleted. */
const mark = 1n << 62n;
const compressed = 'cmp';
/** The server counts each number that is left out; so many take it less than a second. */
const fewLeftOut = 1n << 22n;
/** After the last record there is nothing to compare with, and a bucket may have left out what it wrote for decades. */
const manyLeftOut = 1n << 30n;

/**
 * Looks for records in the block files below `folder` whose numbers cannot be theirs: they leave out more than was ever written, or are not
 * the one that is missing between their neighbours.
 *
 * nats-server 2.15.1 checks the checksum of a record only after it has noted every number between the record and the one before it: one
 * flipped bit then keeps it busy for hours, with more and more memory. Behind a number that is too low it drops all that follows. Compressed blocks are left out; the server checks those as a whole.
 */
export async function wrongHeads(folder: string): Promise<WrongHead[]> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const wrong: WrongHead[] = [];
  for (const messages of names.filter((name) => path.basename(name) === 'msgs')) {
    const heads: Head[] = [];
    for (const file of await blocksOf(path.join(folder, messages)))
      for (const head of await headsOf(file)) heads.push(head);
    wrong.push(...outOfOrder(heads));
  }
  return wrong;
}

/**
 * Gives such records their numbers again, on disk, and says so. To be called while no server runs on the files.
 *
 * The server then checks them by their checksums as any other: where more than the number was wrong, it drops them. Never fails: what
 * cannot be written is said, and the server starts on what is there.
 */
export async function mendHeads(folder: string, say: Say): Promise<void> {
  for (const { file, at, seq, found } of await wrongHeads(folder)) {
    say(`a record of ${file} is damaged: it is number ${found} where ${seq} must be; it gets that number`);
    await writeNumber(file, at, seq).catch((caught: unknown) => say(`${file} cannot be mended: ${String(caught)}`));
  }
}

async function writeNumber(file: string, at: number, seq: bigint): Promise<void> {
  const handle = await open(file, 'r+');
  try {
    const number = Buffer.alloc(8);
    number.writeBigUInt64LE(seq);
    await handle.write(number, 0, number.length, at + 4);
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

/** In the order in which they were written. */
async function blocksOf(messages: string): Promise<string[]> {
  const names = await readdir(messages).catch(() => []);
  const blocks = names.filter((name) => /^\d+\.blk$/.test(name));
  return blocks.toSorted((a, b) => Number.parseInt(a) - Number.parseInt(b)).map((name) => path.join(messages, name));
}

/** As far as records follow each other, without marks; where the length of one is wrong, those after it are not known. */
async function headsOf(file: string): Promise<Head[]> {
  const heads: Head[] = [];
  const block = await plainBlock(file).catch(() => Buffer.of());
  for (let at = 0; at + headBytes + checksumBytes <= block.length;) {
    const length = block.readUInt32LE(at) & 0x7fff_ffff;
    const subject = block.readUInt16LE(at + 20);
    if (length < headBytes + checksumBytes + subject || at + length > block.length) break;
    const number = block.readBigUInt64LE(at + 4) & ~erased;
    if ((number & mark) === 0n) heads.push({ file, at, seq: number });
    at += length;
  }
  return heads;
}

/** Nothing of a compressed one, of which a large log has many. */
async function plainBlock(file: string): Promise<Buffer> {
  const handle = await open(file);
  try {
    const { buffer } = await handle.read(Buffer.alloc(compressed.length), 0, compressed.length, 0);
    return buffer.toString('latin1') === compressed ? Buffer.of() : await readFile(file);
  } finally {
    await handle.close();
  }
}

function outOfOrder(heads: readonly Head[]): WrongHead[] {
  const wrong: WrongHead[] = [];
  let before: bigint | undefined;
  for (const [index, { file, at, seq: found }] of heads.entries()) {
    const [after, next] = [heads[index + 1]?.seq, heads[index + 2]?.seq];
    const isWrong = before === undefined ? isOutFirst(found, after, next) : isOut(found, { before, after });
    const seq = before === undefined ? (after ?? found) - 1n : before + 1n;
    if (isWrong) wrong.push({ file, at, seq, found });
    before = isWrong ? seq : found;
  }
  return wrong;
}

/** Nothing is before the first one: it is wrong where the two after it agree that it is far beyond them. There is no number 0. */
function isOutFirst(found: bigint, after: bigint | undefined, next: bigint | undefined): boolean {
  if (after === undefined || after <= 1n) return false;
  if (found === 0n) return true;
  return found - after > fewLeftOut && (next === undefined || (next > after && next < found));
}

/** Where one number is missing between its neighbours it is that one; else only what is far from both is surely none of them. */
function isOut(found: bigint, { before, after }: Readonly<{ before: bigint; after: bigint | undefined }>): boolean {
  if (after === undefined) return found - before > manyLeftOut;
  if (after === before + 2n) return found !== before + 1n;
  const away = found > before ? found - before : before - found;
  return away > fewLeftOut && !(before < found && found < after);
}
