import { open, rename } from 'node:fs/promises';
import path from 'node:path';

/** Writes a small file so that it is complete or absent, also after a power cut, and returns once it is on disk. */
export async function writeDurably(file: string, text: string): Promise<void> {
  const unfinished = `${file}.new`;
  await using written = await open(unfinished, 'w', 0o600);
  await written.writeFile(text);
  await written.sync();
  await rename(unfinished, file);
  await using folder = await open(path.dirname(file), 'r');
  await folder.sync();
}
