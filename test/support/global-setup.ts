import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestProject } from 'vitest/node';
import { removeSoon } from '../../src/engine/servers/daemon.ts';
import { startNats } from '../../src/engine/servers/nats/nats-server.ts';
import { startPostgres } from '../../src/engine/servers/postgres/postgres.ts';

declare module 'vitest' {
  interface ProvidedContext {
    nats: { url: string; wsUrl: string; monitorUrl: string; user: string; pass: string };
    postgres: { host: string; port: number; user: string };
  }
}

const HOST = '127.0.0.1';

/** Starts one nats-server and one PostgreSQL in a temporary folder for the whole run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(path.join(tmpdir(), 'annals-test-'));
  chmodSync(folder, 0o711);
  const postgresStart = startPostgres({ dir: path.join(folder, 'pg'), ephemeral: true, say });
  const natsStart = startNats({ dir: path.join(folder, 'nats'), host: HOST, port: 0, wsPort: 0, ephemeral: true, say });

  const teardown = async () => {
    for (const start of await Promise.allSettled([postgresStart, natsStart])) {
      if (start.status === 'fulfilled') await start.value.stop();
    }
    removeSoon(folder);
  };
  try {
    const [postgres, nats] = await Promise.all([postgresStart, natsStart]);
    const { host = '', port = 0 } = postgres.config;
    project.provide('postgres', { host, port, user: 'postgres' });
    const { url, wsUrl, monitorUrl, user, pass } = nats;
    project.provide('nats', { url, wsUrl, monitorUrl, user, pass });
    return teardown;
  } catch (error) {
    await teardown();
    throw error;
  }
}

function say(message: string): void {
  process.stderr.write(`${message}\n`);
}
