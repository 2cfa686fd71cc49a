import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestProject } from 'vitest/node';
import { startNats } from '../../src/edges/embedded/nats-server.ts';
import { startPostgres } from '../../src/edges/embedded/postgres.ts';

declare module 'vitest' {
  interface ProvidedContext {
    nats: { url: string; wsUrl: string; user: string; pass: string };
    postgres: { host: string; port: number; user: string };
  }
}

/** Starts one nats-server and one PostgreSQL in a temporary folder for the whole run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(path.join(tmpdir(), 'annals-test-'));
  chmodSync(folder, 0o711);
  const say = (message: string) => process.stderr.write(`${message}\n`);
  const [postgres, nats] = await Promise.all([
    startPostgres({ dir: path.join(folder, 'pg'), ephemeral: true, say }),
    startNats({ dir: path.join(folder, 'nats'), host: '127.0.0.1', port: 0, wsPort: 0, ephemeral: true, say }),
  ]);
  const { host = '', port = 0, user = '' } = postgres.config;
  if (typeof user !== 'string') throw new Error('The embedded PostgreSQL has a plain user name');
  project.provide('postgres', { host, port, user });
  project.provide('nats', { url: nats.url, wsUrl: nats.wsUrl, user: nats.user, pass: nats.pass });
  return async () => {
    await Promise.all([postgres.stop(), nats.stop()]);
    rmSync(folder, { recursive: true, force: true });
  };
}
