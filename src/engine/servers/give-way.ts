import { readdir } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type pg from 'pg';
import { ask } from './commands.ts';
import { runsWith } from './predecessor.ts';
import type { Pools } from '../models/pool.ts';

/**
 * Lets everybody else on this machine go first from now on: this process runs where nobody else would, and so does what
 * an embedded database does for its `bulk` and `load` pools, which have no connection yet.
 *
 * What the system refuses stays as it is. A database that is not ours may run anywhere and is left alone.
 */
export async function giveWay({ bulk, load }: Pools, postgres: pg.ClientConfig): Promise<void> {
  // Where each thread has a priority of its own that was the main one.
  for (const thread of await readdir('/proc/self/task').catch(() => [])) lower(Number(thread));
  await goLast(process.pid);
  // An embedded database is reached by a socket in its folder, another one by a connection string.
  if (!path.isAbsolute(postgres.host ?? '')) return;
  for (const pool of [bulk, load]) pool.on('connect', (client) => void lowerBackend(client));
}

/** Lets everybody else go first before what a connection to an embedded database asks for from now on. */
export async function lowerBackend(client: pg.ClientBase): Promise<void> {
  const pid: unknown = Reflect.get(client, 'processID');
  if (typeof pid === 'number' && (await runsWith(pid, 'postgres'))) await goLast(pid);
}

/**
 * The idle class of Linux: whoever wakes up has the core at once, which the lowest priority, used elsewhere, does not
 * give him.
 */
async function goLast(pid: number): Promise<void> {
  lower(pid);
  await ask('chrt', '--all-tasks', '--idle', '--pid', '0', String(pid));
}

function lower(pid: number): void {
  try {
    os.setPriority(pid, os.constants.priority.PRIORITY_LOW);
  } catch {
    // Not ours, or over already.
  }
}
