import { existsSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import type { Report } from './commands.ts';

/** A server's last words when its data folder cannot be used. */
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
/** Failures that the environment causes to a sound store; they may come with or without one of the words above. */
const surroundings =
  /no space left|disk quota|input\/output error|too many open files|out of memory|cannot allocate|permission denied|read-only file system/i;

/**
 * Returns whether the last words of a server that ended at its start report damaged data.
 *
 * Only explicit words count. A signal, a clean end, a missing library, an unknown setting, a full disk or an unknown
 * message never does: then the start fails, and the store stays where it is.
 */
export function isDataDamage(lastWords: string): boolean {
  return !surroundings.test(lastWords) && evidence.some((words) => words.test(lastWords));
}

/**
 * Renames a damaged folder, which stays until its operator removes it; returns its new name, which starts with `name`.
 */
export async function setAside(folder: string, print: Report, name = folder): Promise<string | undefined> {
  if (!existsSync(folder)) return undefined;
  const to = `${name}.damaged-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`;
  await rename(folder, to);
  print(`${folder} is damaged; it was moved to ${to}, which you may remove, and is made anew`);
  return to;
}
