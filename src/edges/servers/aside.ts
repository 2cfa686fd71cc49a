import { existsSync } from 'node:fs';
import { readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Say } from './commands.ts';

/** What a server says at its end that has nothing to do with what lies in its folder. */
const surroundings =
  /no space left|address already in use|could not bind|permission denied|shared memory|cannot allocate|out of memory|lock file|too many open files|must not be (owned|run)|quota/i;
/** Of each folder; older ones are removed, so that a disk that damages files again and again does not fill up. */
const keptAside = 3;

/** Whether a server that ended at its start did so because of its data, as far as its last words tell. */
export function isAboutData(lastWords: string): boolean {
  return !surroundings.test(lastWords);
}

/**
 * Moves a damaged folder out of the way, where it stays until three newer ones lie there or somebody removes it; gives back its new name,
 * which begins with `name`.
 */
export async function setAside(folder: string, say: Say, name = folder): Promise<string | undefined> {
  if (!existsSync(folder)) return undefined;
  const to = `${name}.damaged-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`;
  await rename(folder, to);
  say(`${folder} is damaged; it was moved to ${to} and is made anew`);
  await removeOldest(name, say);
  return to;
}

async function removeOldest(folder: string, say: Say): Promise<void> {
  const prefix = `${path.basename(folder)}.damaged-`;
  const names = (await readdir(path.dirname(folder))).filter((name) => name.startsWith(prefix));
  for (const name of names.toSorted().slice(0, -keptAside)) {
    const old = path.join(path.dirname(folder), name);
    say(`${old} is removed; ${keptAside} damaged folders after it are kept`);
    await rm(old, { recursive: true, force: true }).catch((error: unknown) => say(`it was not: ${String(error)}`));
  }
}
