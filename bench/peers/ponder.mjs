/** ponder on PostgreSQL, before a made-up chain; its own cache holds the chain's events from the second run on. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { serve } from './driver.mjs';
import { logsPerBlock, startChain } from './made-up-chain.mjs';

const here = import.meta.dirname;
const cached = new Map();
let project;
let connectionString;
let chain;
let pool;
let serving;
let schemas = 0;

await serve(
  {
    open: async ({ config: { host, port, user, database }, folder }) => {
      if (project) return;
      connectionString = `postgresql://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`;
      pool = new pg.Pool({ connectionString });
      chain = await startChain();
      project = path.join(folder, 'project');
      await cp(path.join(here, 'ponder'), project, { recursive: true });
      await symlink(path.join(here, 'node_modules'), path.join(project, 'node_modules'));
      await writeFile(path.join(project, 'package.json'), '{"type":"module"}');
    },
    rebuild: async ({ events, rows, kind }) => {
      const key = `${events}/${rows}/${kind}`;
      if (!cached.has(key)) {
        cached.set(key, 31_337 + cached.size);
        await backfill({ id: cached.get(key), events, rows, kind });
      }
      return events / (await backfill({ id: cached.get(key), events, rows, kind }));
    },
    /** Serves GraphQL over tables that are filled by SQL; gives back the port. */
    serve: async ({ actions, supernodes }) => {
      serving = await start({ id: 31_000, blocks: 1, rows: 1, kind: 'probes' });
      await serving.said('Completed backfill');
      await fill(serving.schema, { actions, supernodes });
      return serving.port;
    },
  },
  async () => {
    await serving?.stop();
    await pool?.end();
    chain?.stop();
  },
);

/** Seconds that ponder itself states for the whole backfill. */
async function backfill({ id, events, rows, kind }) {
  const run = await start({ id, blocks: events / logsPerBlock, rows, kind });
  try {
    const { duration } = await run.said('Completed backfill');
    const { rows: found } = await pool.query(
      kind === 'probes'
        ? `select count(*)::int as rows, sum(probes)::int as events from ${run.schema}.node`
        : `select count(*)::int as rows, sum(steps)::int as events from ${run.schema}.life`,
    );
    if (found[0].rows !== rows || found[0].events !== events)
      throw new Error(`${found[0].events} of ${events} events in ${found[0].rows} of ${rows} rows`);
    return duration / 1000;
  } finally {
    await run.stop();
    await pool.query(`drop schema if exists ${run.schema} cascade`);
  }
}

async function start({ id, blocks, rows, kind }) {
  const [port, schema] = [await freePort(), `ponder${++schemas}`];
  const program = path.join(here, 'node_modules/ponder/dist/esm/bin/ponder.js');
  const options = ['--root', project, '--schema', schema, '--port', port, '--hostname', '127.0.0.1'];
  const child = spawn(process.execPath, [program, 'start', ...options, '--log-format', 'json'], {
    cwd: project,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      PONDER_TELEMETRY_DISABLED: 'true',
      BENCH_DATABASE: connectionString,
      BENCH_RPC: `${chain.url}/${id}/${blocks}/${rows}/${kind}`,
      BENCH_CHAIN: id,
      BENCH_BLOCKS: blocks,
    },
  });
  const exited = once(child, 'exit');
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  let last = '';
  createInterface(child.stderr).on('line', (line) => (last = line));
  return {
    port,
    schema,
    /** Waits for a line of its log. */
    said: async (words) => {
      for (let line = await lines.next(); !line.done; line = await lines.next()) {
        last = line.value;
        const entry = line.value.startsWith('{') ? JSON.parse(line.value) : {};
        if (entry.msg?.startsWith(words)) {
          child.stdout.resume();
          return entry;
        }
      }
      throw new Error(`it ended: ${last}`);
    },
    stop: async () => {
      child.kill('SIGTERM');
      const late = setTimeout(() => child.kill('SIGKILL'), 5_000);
      await exited;
      clearTimeout(late);
    },
  };
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}

async function fill(schema, { actions, supernodes }) {
  const client = await pool.connect();
  try {
    await client.query('set session_replication_role = replica');
    await client.query(
      `insert into ${schema}.action select n, (array['CASCADE', 'SENSE'])[1 + n % 2],
         (array['DONE', 'APPROVED', 'PENDING', 'EXPIRED'])[1 + n % 4], 'creator' || n % 1000, 'node' || n % $2, n / 3,
         '2026-01-01T00:00:00Z', n % 100000, (100 + n % 9000)::text, repeat('m', 600) from generate_series(1, $1) n`,
      [actions, supernodes],
    );
    await client.query(
      `insert into ${schema}.supernode select 'node' || n, 'account' || n, '192.0.2.1:4444', 'active', n % 3 > 0, '2.5.0', n % 3
         from generate_series(0, $1 - 1) n`,
      [supernodes],
    );
    await client.query(`vacuum analyze ${schema}.action, ${schema}.supernode`);
  } finally {
    client.release(true);
  }
}
