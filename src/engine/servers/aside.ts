import { existsSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import type { Say } from './commands.ts';

/** What a server says at its end when what lies in its folder cannot be used. */
const evidence: readonly RegExp[] = [
  /invalid page in block|page verification failed|checksum (mismatch|error)|incorrect checksum/i,
  /\bcorrupt(ed|ion)?\b|\bmalformed\b|invalid magic number|bad (magic|checksum)/i,
  /could not (locate a valid|find redo|read) checkpoint|invalid (primary )?checkpoint record/i,
  /database files are incompatible|is not a valid data directory|contains unexpected data/i,
  /could not open (file|directory) "(base|global|pg_\w+)[^"]*": No such file/i,
  /could not (read file|access status of transaction)[^\n]*(read \d+ of|No such file|too short)/i,
  /catalog is missing \d+ attribute|cache lookup failed for|could not find tuple for/i,
  /PANIC:/,
];
/** What the surroundings do to a sound store; said with or without one of the words above. */
const surroundings =
  /no space left|disk quota|input\/output error|too many open files|out of memory|cannot allocate|permission denied|read-only file system/i;

/**
 * Whether the last words of a server that ended at its start say that its data are damaged.
 *
 * Only words that say so count. A signal, a clean end, a missing library, an unknown setting or a full disk never does,
 * and neither does anything that is not known: then the start fails, and the store stays where it is.
 */
export function isDataDamage(lastWords: string): boolean {
  return !surroundings.test(lastWords) && evidence.some((words) => words.test(lastWords));
}

/**
 * Moves a damaged folder out of the way, where it stays until somebody removes it; gives back its new name, which
 * begins with `name`.
 */
export async function setAside(folder: string, say: Say, name = folder): Promise<string | undefined> {
  if (!existsSync(folder)) return undefined;
  const to = `${name}.damaged-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`;
  await rename(folder, to);
  say(`${folder} is damaged; it was moved to ${to}, which you may remove, and is made anew`);
  return to;
}
