import { existsSync } from 'node:fs';
import path from 'node:path';
import { lookAtLengths } from '../servers/postgres/file-lengths.ts';
import { isNeeded, knownFilesQuery } from '../servers/postgres/relation-files.ts';
import { type Pools, withClient } from '../models/pool.ts';

/**
 * Files of tables and indexes of an embedded database that are gone, or shorter than they were, in words.
 *
 * One that is just being dropped or made may be among them: look again before believing it. `remember` makes the lengths found those that
 * the next look asks for.
 */
export async function damagedLengths(
  pools: Pools,
  folder: string,
): Promise<Readonly<{ damaged: readonly string[]; remember: () => Promise<void> }>> {
  const { short, has, remember } = await lookAtLengths(folder);
  const { rows } = await withClient(pools.write, (client) => client.query<{ file: string }>(knownFilesQuery));
  const known = new Set(rows.map(({ file }) => file));
  // A table may have been made since the files were looked at.
  const gone = [...known].filter((file) => !has(file) && !existsSync(path.join(folder, file)));
  const files = new Set([...gone, ...short.filter((file) => isNeeded(file, known))]);
  const damaged = [...files].map((file) => `${file} is ${has(file) ? 'shorter than it was' : 'missing'}`);
  return { damaged, remember };
}
