import { once } from 'node:events';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import type pg from 'pg';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createPools, type Pools } from '../../../src/engine/models/pool.ts';
import { createReader } from '../../../src/engine/models/read/reading.ts';
import { temporaryFolder } from '../../support/programs/temporary-folder.ts';
import { freshDatabase } from '../../support/programs/servers.ts';

/** The address of a database as an operator writes it. */
function addressOf({ host, port, user, database, password }: pg.ClientConfig, more: string): pg.ClientConfig {
  const secret = typeof password === 'string' ? password : '';
  const url = new URL(`postgres://localhost/${database}`);
  url.searchParams.set('host', host ?? '');
  url.port = String(port);
  url.username = user ?? '';
  url.password = secret;
  return { connectionString: `${url.href}${more}` };
}

function opened(config: pg.ClientConfig): Pools {
  const pools = createPools(config, { applicationName: 'annals test' });
  onTestFinished(() => pools.end());
  return pools;
}

const shown = async (pool: pg.Pool, setting: string): Promise<unknown> =>
  Object.values((await pool.query<Record<string, unknown>>(`show ${setting}`)).rows[0] ?? {})[0];

describe('createPools with an address that has options of its own', () => {
  it('keeps these beside its own isolation and plans', async () => {
    const { read, write, load } = opened(
      addressOf(
        await freshDatabase(),
        '&options=-c%20geqo%3Doff%20-c%20datestyle%3DISO,%5C%20YMD&application_name=mine',
      ),
    );
    for (const pool of [read, write, load]) expect(await shown(pool, 'geqo')).toBe('off');
    expect(await shown(read, 'datestyle')).toBe('ISO, YMD');
    expect(await shown(read, 'default_transaction_isolation')).toBe('repeatable read');
    expect(await shown(read, 'default_transaction_read_only')).toBe('on');
    expect(await shown(write, 'plan_cache_mode')).toBe('force_generic_plan');
    expect(await shown(load, 'synchronous_commit')).toBe('off');
    expect(await shown(write, 'application_name')).toBe('annals test write');
  });

  it('refuses what contradicts what it relies on, and takes what says the same', async () => {
    const config = await freshDatabase();
    for (const [more, name] of [
      ['&options=-c%20default_transaction_isolation%3Dserializable', 'default_transaction_isolation'],
      ['&options=--enable-seqscan%3Don', 'enable-seqscan'],
      ['&options=-cjit%3Don', 'jit'],
      ['&statement_timeout=0', 'statement_timeout'],
    ] as const) {
      expect(() => createPools(addressOf(config, more), { applicationName: 'annals test' })).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT', message: expect.stringContaining(`sets ${name}`) }),
      );
    }
    expect(await shown(opened(addressOf(config, '&options=-cjit%3Doff')).read, 'jit')).toBe('off');
  });
});

/** The folder of a socket that listens, and takes in none of those that connect, as a server does that is frozen. */
async function frozenServer(): Promise<Readonly<{ host: string; end: () => Promise<void> }>> {
  const folder = temporaryFolder();
  const program = `
    const { parentPort, workerData } = require('node:worker_threads');
    require('node:net').createServer().listen({ path: workerData, backlog: 1 }, () => {
      parentPort.postMessage('listens');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    });`;
  const worker = new Worker(program, { eval: true, workerData: path.join(folder, '.s.PGSQL.5432') });
  await once(worker, 'message');
  const end = async (): Promise<void> => {
    await worker.terminate();
    rmSync(folder, { recursive: true });
  };
  return { host: folder, end };
}

describe('createReader', () => {
  it('is out of reach for now while a frozen server has as many at its socket as it lets wait', async () => {
    const { host, end } = await frozenServer();
    const waiting = Array.from({ length: 4 }, () => opened({ host, port: 5432, user: 'annals' }));
    const failures = waiting.map(async ({ read }) => {
      const reader = createReader({ pools: { read }, network: 'x' });
      return await reader.read(() => Promise.resolve()).catch((caught: unknown) => caught);
    });
    const first = await Promise.race(failures);
    await end();
    expect(first).toMatchObject({ code: 'UNAVAILABLE', cause: { syscall: 'connect' } });
  });

  it('sees one instant and changes nothing when the session is set to something else', async () => {
    const { read, ...others } = opened(await freshDatabase());
    await others.bulk.query(
      'create schema annals_x; create table annals_x.generations (projection text, version int4, schema_name text, status text, stream text, incarnation text, position int8)',
    );
    read.on('connect', (client) => {
      void client.query(
        'set default_transaction_isolation = "read committed"; set default_transaction_read_only = off',
      );
    });
    const reader = createReader({ pools: { read, ...others }, network: 'x' });
    const look = () =>
      reader.read(
        async ({ db }) =>
          (
            await sql`select current_setting('transaction_isolation') as i, current_setting('transaction_read_only') as r`.execute(
              db,
            )
          ).rows,
      );
    expect(await look()).toEqual([{ i: 'repeatable read', r: 'on' }]);
  });
});
