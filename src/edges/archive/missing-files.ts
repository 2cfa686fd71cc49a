import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Pools } from '../postgres/pool.ts';
import { withClient } from '../postgres/pool.ts';

/**
 * Files of tables and indexes that the database knows and that are not there, where its folder is ours.
 *
 * One that is just being dropped or made may be among them: look again before believing it.
 */
export async function missingFiles(pools: Pools, folder: string): Promise<string[]> {
  const { rows } = await withClient(pools.write, (client) =>
    client.query<{ file: string }>(
      `select pg_relation_filepath(oid) as file from pg_class where pg_relation_filepath(oid) is not null`,
    ),
  );
  return rows.map(({ file }) => file).filter((file) => !existsSync(path.join(folder, file)));
}
