import { homedir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of this clone. */
export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

/** The user's cache of fetched programs; the program itself (src/engine/servers) looks in the same place. */
export const cache = path.resolve(
  process.env.ANNALS_CACHE || path.join(process.env.XDG_CACHE_HOME || path.join(homedir(), '.cache'), 'annals'),
);

/** Where Node keeps what it compiled; a start reads it instead of stripping types anew. `npm ci` clears it. */
const compiled = path.join(root, 'node_modules/.cache/annals-compiled');

/** Has the C library give memory back that threads are done with. */
const tidyMemory = { MALLOC_ARENA_MAX: '1', MALLOC_TRIM_THRESHOLD_: '131072' };

/** The environment in which programs find this Node and the installed packages' programs first. */
export function environmentOf(node) {
  const folders = [path.dirname(node), path.join(root, 'node_modules/.bin'), process.env.PATH ?? ''];
  return {
    NODE_COMPILE_CACHE: compiled,
    ...tidyMemory,
    ...process.env,
    PATH: [...new Set(folders)].join(path.delimiter),
  };
}
