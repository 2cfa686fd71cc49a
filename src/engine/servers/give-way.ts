import { readdir } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type pg from 'pg';
import { processIdOf } from '../../kit/shims/pg/process-id.ts';
import { request } from './commands.ts';
import { runsWith } from './predecessor.ts';
import type { Pools } from '../models/pool.ts';

/**
 * Runs this process and its database backends at idle priority from now on: the backends are those of an embedded
 * database for its `bulk` and `load` pools, which have no connection yet.
 *
 * Where the system refuses, the priority stays as it is. An external database may run on another machine and is left
 * alone.
 */
export async function runAtIdlePriority({ bulk, load }: Pools, postgres: pg.ClientConfig): Promise<void> {
  // Where each thread has a priority of its own that was the main one.
  for (const thread of await readdir('/proc/self/task').catch(() => [])) lower(Number(thread));
  await goLast(process.pid);
  // An embedded database is reached by a socket in its folder, another one by a connection string.
  if (!path.isAbsolute(postgres.host ?? '')) return;
  for (const pool of [bulk, load]) pool.on('connect', (client) => void lowerBackend(client));
}

/** Runs the backend of a connection to an embedded database at idle priority from now on. */
export async function lowerBackend(client: pg.ClientBase): Promise<void> {
  const pid = processIdOf(client);
  if (pid !== undefined && (await runsWith(pid, 'postgres'))) await goLast(pid);
}

/**
 * The idle class of Linux: any process that wakes up gets the core at once, which the lowest priority, used elsewhere,
 * does not guarantee.
 */
async function goLast(pid: number): Promise<void> {
  lower(pid);
  await request('chrt', '--all-tasks', '--idle', '--pid', '0', String(pid));
}

function lower(pid: number): void {
  try {
    os.setPriority(pid, os.constants.priority.PRIORITY_LOW);
  } catch {
    // Not ours, or over already.
  }
}
