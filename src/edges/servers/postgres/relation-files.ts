import { readdir } from 'node:fs/promises';
import path from 'node:path';

const relationFile = /^\d+(_(fsm|vm|init))?(\.\d+)?$/;
/** Databases and relations below this number are those that every new cluster has. */
const firstOfUsers = 16_384;

/** All files of a cluster that hold pages of tables and indexes, relative to its folder. */
export async function relationFiles(cluster: string): Promise<string[]> {
  const databases = await readdir(path.join(cluster, 'base')).catch(() => []);
  const folders = ['global', ...databases.map((name) => path.join('base', name))];
  const files = await Promise.all(
    folders.map(async (folder) => {
      const names = await readdir(path.join(cluster, folder)).catch(() => []);
      return names.filter((name) => relationFile.test(name)).map((name) => path.join(folder, name));
    }),
  );
  return files.flat();
}

/** Asks a database for the first file (`file`) of each of its tables and indexes, and of those that all databases share. */
export const knownFilesQuery =
  'select pg_relation_filepath(oid) as file from pg_class where pg_relation_filepath(oid) is not null';

/**
 * Whether a file is one that has to be there: part of what our database knows, or of what comes with every cluster.
 *
 * A dropped table leaves an empty file until the next checkpoint; nobody drops what comes with the cluster.
 */
export function isNeeded(file: string, known: ReadonlySet<string>): boolean {
  const first = file.replace(/(_(fsm|vm|init))?(\.\d+)?$/, '');
  const [database = NaN, relation = NaN] = first.split('/').slice(1).map(Number);
  return known.has(first) || (database < firstOfUsers && relation < firstOfUsers);
}
