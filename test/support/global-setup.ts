import { chmodSync, existsSync, mkdtempSync, statfsSync } from 'node:fs';
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
const GIB = 1024 ** 3;
/** Linux's folder in memory, and how much must be free in it and of memory: a run of all tests fills half of that. */
const MEMORY = { folder: '/dev/shm', leastBytes: 12 * GIB };

/** Starts one nats-server and one PostgreSQL in a temporary folder for the whole run: what they write is not kept. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(path.join(whereServersLive(), 'annals-test-'));
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

/** In memory where there is plenty of it: the servers of the tests write more than a disk that is shared can take. */
function whereServersLive(): string {
  if (!existsSync(MEMORY.folder) || process.availableMemory() < MEMORY.leastBytes) return tmpdir();
  const { bavail, bsize } = statfsSync(MEMORY.folder);
  return bavail * bsize < MEMORY.leastBytes ? tmpdir() : MEMORY.folder;
}

function say(message: string): void {
  process.stderr.write(`${message}\n`);
}
