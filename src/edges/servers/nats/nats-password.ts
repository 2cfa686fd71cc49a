import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { writeDurably } from '../durable-file.ts';

/** The password of earlier starts, so that clients survive a restart of the server; a new one where there is none. */
export async function persistentPassword(file: string): Promise<string> {
  const kept = await readFile(file, 'utf8').catch(() => '');
  if (kept) return kept;
  const pass = randomBytes(24).toString('hex');
  await writeDurably(file, pass);
  return pass;
}
