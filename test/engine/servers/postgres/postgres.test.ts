import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startPostgres } from '../../../../src/engine/servers/postgres/postgres.ts';
import { killWhileStarting, temporaryFolder } from '../../../support/programs/processes.ts';
import { freshDatabase } from '../../../support/programs/servers.ts';
import { steadyPort } from '../../../support/programs/steady-port.ts';

const say = () => undefined;

let made: string;

beforeAll(async () => {
  made = mkdtempSync(path.join(tmpdir(), 'annals-'));
  const server = await startPostgres({ dir: made, say });
  await query(server.config, 'create table kept as select 7 as value');
  await server.stop();
});
afterAll(() => rmSync(made, { recursive: true, force: true }));

test('freshDatabase is empty, in UTF8 with the same collation everywhere', async () => {
  const rows = await query(
    await freshDatabase(),
    `select (select count(*)::int from pg_stat_user_tables) as tables, pg_encoding_to_char(encoding) as encoding,
            datlocprovider::text as provider, datlocale as locale, current_setting('data_checksums') as checksums
       from pg_database where datname = current_database()`,
  );
  expect(rows).toEqual([{ tables: 0, encoding: 'UTF8', provider: 'b', locale: 'C.UTF-8', checksums: 'on' }]);
});

test('startPostgres after kill -9 of the server, with clients at work, keeps what was committed', async () => {
  const { dir } = stoppedCluster();
  const first = await startPostgres({ dir, say });
  const busy = new pg.Client(first.config);
  busy.on('error', () => undefined);
  await busy.connect();
  const interrupted = busy.query('select pg_sleep(60)').catch((error: Error) => error.message);

  process.kill(first.pid, 'SIGKILL');
  expect(await first.exited).toContain('was ended by SIGKILL');
  const second = await startPostgres({ dir, say });
  onTestFinished(() => second.stop());
  expect(await query(second.config, 'select value from kept')).toEqual([{ value: 7 }]);
  expect(await interrupted).toMatch(/terminated|closed/i);
});

test('a server that is still recovering is waited for, also longer than one that does nothing', async () => {
  const { dir, settings } = stoppedCluster();
  // A recovery as slow as one likes: from an archive that takes its time to have nothing.
  appendFileSync(settings, "restore_command = 'sleep 0.5; false'\n");
  writeFileSync(path.join(dir, 'pg18', 'recovery.signal'), '');
  const server = await startPostgres({ dir, say, idleMs: 250 });
  onTestFinished(() => server.stop());
  expect(readFileSync(path.join(dir, 'postgres.log'), 'utf8')).toContain('the database system is starting up');
  expect(await query(server.config, 'select value from kept')).toEqual([{ value: 7 }]);
});

test('a server that starts again reads into its memory what was there when it stopped', async () => {
  const dir = temporaryFolder();
  const first = await startPostgres({ dir, say });
  await query(
    first.config,
    `create schema annals_main_actions_g1; create extension pg_buffercache; create extension pg_prewarm;
     create table annals_main_actions_g1.actions (id, text) as select n, repeat('x', 500) from generate_series(1, 20000) n;
     create index on annals_main_actions_g1.actions (id);
     select pg_prewarm('annals_main_actions_g1.actions'), pg_prewarm('annals_main_actions_g1.actions_id_idx')`,
  );
  await first.stop();
  const second = await startPostgres({ dir, say });
  onTestFinished(() => second.stop());
  const pages = `select model.relname as name, pg_relation_size(model.oid) > 50 * 8192 as "isLarge",
      pg_relation_size(model.oid) / 8192 - (
        select count(*) from pg_buffercache where relfilenode = model.relfilenode and relforknumber = 0
      ) as missing
    from pg_class model where relnamespace = 'annals_main_actions_g1'::regnamespace order by relname`;
  const held = { isLarge: true, missing: '0' };
  await expect
    .poll(() => query(second.config, pages), { timeout: 20_000 })
    .toEqual([
      { name: 'actions', ...held },
      { name: 'actions_id_idx', ...held },
    ]);
});

test.each([0, 10, 20, 40, 60, 80, 110, 150, 200, 300])(
  'a server that is killed %i ms into its start is no damaged one: nothing is moved aside',
  async (afterMs) => {
    const { dir } = stoppedCluster();
    const first = await startPostgres({ dir, say });
    process.kill(first.pid, 'SIGKILL');
    await first.exited;
    const told: string[] = [];
    const starting = startPostgres({ dir, say: (line) => told.push(line) });
    const killed = await killWhileStarting(path.join(dir, 'postgres.pid'), first.pid, afterMs);
    const started = await starting.catch((error: Error) => error);
    expect(killed).toBeGreaterThan(0);
    if (!(started instanceof Error)) await started.stop();
    expect(readdirSync(dir).filter((name) => name.includes('damaged'))).toEqual([]);
    const last = await startPostgres({ dir, say });
    onTestFinished(() => last.stop());
    expect(await query(last.config, 'select value from kept')).toEqual([{ value: 7 }]);
    expect(told.join()).not.toContain('damaged');
  },
);

test.each(['empty', 'of another process'])('lock files that are %s stand in the way of no start', async (kind) => {
  const { dir } = stoppedCluster();
  const first = await startPostgres({ dir, say });
  const locks = [path.join(dir, 'pg18', 'postmaster.pid'), path.join(first.config.host ?? '', '.s.PGSQL.5432.lock')];
  for (const lock of locks) expect(readFileSync(lock, 'utf8')).toContain(`${first.pid}\n`);
  process.kill(first.pid, 'SIGKILL');
  await first.exited;
  for (const lock of locks) {
    const left = readFileSync(lock, 'utf8');
    writeFileSync(lock, kind === 'empty' ? '' : left.replace(String(first.pid), String(process.pid)));
  }
  await expectItsTable(dir);
});

test.each([
  ['a missing library of every session', `session_preload_libraries = 'nosuchlib'`],
  ['an unknown setting', `sharde_buffers = '1MB'`],
])('%s fails the start, says so, and moves nothing', async (_, setting) => {
  const { dir, settings } = stoppedCluster();
  const before = readFileSync(settings, 'utf8');
  appendFileSync(settings, `${setting}\n`);
  await expect(startPostgres({ dir, say })).rejects.toThrow(/nosuchlib|sharde_buffers/);
  expect(readdirSync(dir).filter((name) => name.includes('damaged'))).toEqual([]);
  writeFileSync(settings, before);
  await expectItsTable(dir);
});

test('a marker that is missing or cannot be read fails the start, and removes nothing', async () => {
  const { dir } = stoppedCluster();
  const marker = path.join(dir, 'pg18.mode');
  const mode = readFileSync(marker, 'utf8');
  rmSync(marker);
  await expect(startPostgres({ dir, say })).rejects.toThrow('bring it back');
  mkdirSync(marker);
  await expect(startPostgres({ dir, say })).rejects.toThrow(`Cannot read ${marker}`);
  rmSync(marker, { recursive: true });
  writeFileSync(marker, mode);
  await expectItsTable(dir);
});

test('pgPort opens 127.0.0.1, for the password only', async () => {
  const pgPort = await steadyPort();
  const dir = temporaryFolder();
  await expect(startPostgres({ dir, pgPort, say })).rejects.toThrow('set POSTGRES_PASSWORD');
  const server = await startPostgres({ dir, ephemeral: true, pgPort, password: `it's "secret"`, say });
  onTestFinished(() => server.stop());
  const tcp = { host: '127.0.0.1', port: pgPort, user: 'postgres', database: 'annals' };
  expect(await query({ ...tcp, password: `it's "secret"` }, 'select 1 as one')).toEqual([{ one: 1 }]);
  await expect(query({ ...tcp, password: 'guessed' }, 'select 1')).rejects.toThrow(/password authentication failed/);
  expect(await query(server.config, 'show listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }]);
});

/** A cluster of its own, with a table: a copy of the one that was made for all. */
function stoppedCluster(): { dir: string; settings: string } {
  const dir = temporaryFolder();
  execFileSync('cp', ['-a', `${made}/.`, dir]);
  return { dir, settings: path.join(dir, 'pg18', 'postgresql.auto.conf') };
}

async function expectItsTable(dir: string): Promise<void> {
  const server = await startPostgres({ dir, say });
  onTestFinished(() => server.stop());
  expect(await query(server.config, 'select value from kept')).toEqual([{ value: 7 }]);
}

async function query(config: pg.ClientConfig, text: string): Promise<unknown[]> {
  const client = new pg.Client(config);
  try {
    await client.connect();
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}
