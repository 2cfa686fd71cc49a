import { existsSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import type { Say } from './commands.ts';

/** What a server says at its end that has nothing to do with what lies in its folder. */
const surroundings =
  /no space left|address already in use|could not bind|permission denied|shared memory|cannot allocate|out of memory|lock file|too many open files|must not be (owned|run)|quota/i;

/** Whether a server that ended at its start did so because of its data, as far as its last words tell. */
export function isAboutData(lastWords: string): boolean {
  return !surroundings.test(lastWords);
}

/** Moves a damaged folder out of the way, where it stays until somebody removes it; gives back its new name. */
export async function setAside(folder: string, say: Say): Promise<string | undefined> {
  if (!existsSync(folder)) return undefined;
  const to = `${folder}.damaged-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`;
  await rename(folder, to);
  say(`${folder} is damaged; it was moved to ${to} and is made anew from the other store`);
  return to;
}
