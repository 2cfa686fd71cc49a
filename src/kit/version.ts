import { readFile } from 'node:fs/promises';

/** The version of this program, from its manifest. */
export async function ownVersion(): Promise<string> {
  const found: unknown = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'));
  return typeof found === 'object' && found !== null && 'version' in found ? String(found.version) : 'unknown';
}
