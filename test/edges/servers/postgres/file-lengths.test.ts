import { statSync, truncateSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { damagedPages } from '../../../../src/edges/servers/postgres/damaged-pages.ts';
import { lookAtLengths } from '../../../../src/edges/servers/postgres/file-lengths.ts';
import { type EmbeddedPostgres, startPostgres } from '../../../../src/edges/servers/postgres/postgres.ts';
import { clusterFolder } from '../../../../src/edges/servers/postgres/postgres-cluster.ts';
import { temporaryFolder } from '../../../support/processes.ts';

const pageBytes = 8192;

/** A server with a table of many pages and an index on it, all on disk and remembered. */
async function filled(): Promise<{ dir: string; cluster: string; server: EmbeddedPostgres; said: string[] }> {
  const dir = temporaryFolder();
  const said: string[] = [];
  const server = await startPostgres({ dir, say: (line) => said.push(line) });
  onTestFinished(() => server.stop());
  await query(server, 'create table kept as select number from generate_series(1, 20000) as number');
  await query(server, 'create index kept_number on kept (number)');
  await query(server, 'checkpoint');
  const cluster = clusterFolder(dir);
  await (await lookAtLengths(cluster)).remember();
  return { dir, cluster, server, said };
}

test.each(['kept', 'kept_number'])('lookAtLengths finds the file of %s cut where a page ends', async (relation) => {
  const { cluster, server } = await filled();
  const file = await fileOf(server, relation);
  truncateSync(path.join(cluster, file), 3 * pageBytes);
  expect((await lookAtLengths(cluster)).short).toEqual([file]);
  expect(await damagedPages(cluster, new AbortController().signal)).toEqual([]);
});

test('lookAtLengths takes deleting, emptying by vacuum and growing for no damage', async () => {
  const { cluster, server } = await filled();
  const file = await fileOf(server, 'kept');
  await query(server, 'delete from kept where number > 100');
  await query(server, 'vacuum (freeze, analyze) kept');
  const emptied = await lookAtLengths(cluster);
  expect([emptied.short, emptied.has(file)]).toEqual([[], true]);
  await query(server, 'insert into kept select number from generate_series(20001, 60000) as number');
  expect((await lookAtLengths(cluster)).short).toEqual([]);
});

test('lookAtLengths asks nothing of another cluster than the one that was remembered', async () => {
  const { dir, cluster, server } = await filled();
  await server.stop();
  truncateSync(path.join(cluster, 'global', 'pg_control'), 100);
  const another = await startPostgres({ dir, say: () => undefined });
  onTestFinished(() => another.stop());
  expect((await lookAtLengths(cluster)).short).toEqual([]);
});

test('startPostgres sets a cluster aside whose index was cut where a page ends while it stood still, and not one with a dropped table', async () => {
  const { dir, cluster, server, said } = await filled();
  await query(server, 'create table dropped as select 1 as one');
  await (await lookAtLengths(cluster)).remember();
  const gone = await fileOf(server, 'dropped');
  const file = await fileOf(server, 'kept_number');
  await query(server, 'drop table dropped');
  await server.stop();
  expect((await lookAtLengths(cluster)).short).toEqual([gone]);
  const second = await startPostgres({ dir, say: (line) => said.push(line) });
  expect(await query(second, 'select count(*)::int from kept')).toEqual([{ count: 20_000 }]);
  await second.stop();

  const length = statSync(path.join(cluster, file)).size;
  truncateSync(path.join(cluster, file), length - pageBytes);
  const third = await startPostgres({ dir, say: (line) => said.push(line) });
  onTestFinished(() => third.stop());
  expect(said).toContain(`PostgreSQL lacks the ends of files: ${file}`);
  expect(await query(third, `select to_regclass('kept') as kept`)).toEqual([{ kept: null }]);
});

async function fileOf(server: EmbeddedPostgres, relation: string): Promise<string> {
  const [row] = await query<{ file: string }>(server, `select pg_relation_filepath('${relation}') as file`);
  return row?.file ?? '';
}

async function query<Row>({ config }: EmbeddedPostgres, text: string): Promise<Row[]> {
  const client = new pg.Client(config);
  try {
    await client.connect();
    return (await client.query(text)).rows as Row[];
  } finally {
    await client.end();
  }
}
