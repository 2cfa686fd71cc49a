import { readFile } from 'node:fs/promises';

/** The version of this program, from its manifest. */
export async function ownVersion(): Promise<string> {
  const match: unknown = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'));
  return typeof match === 'object' && match !== null && 'version' in match ? String(match.version) : 'unknown';
}
