import { closeSync, openSync, readSync, writeSync } from 'node:fs';

/** Flips a bit, 1 to 128, of a byte of a file, in place: whoever has the file open goes on with it. */
export function flipBit(file: string, at: number, bit = 1): void {
  const handle = openSync(file, 'r+');
  const byte = Buffer.alloc(1);
  readSync(handle, byte, 0, 1, at);
  writeSync(handle, Buffer.of(byte.readUInt8() ^ bit), 0, 1, at);
  closeSync(handle);
}
