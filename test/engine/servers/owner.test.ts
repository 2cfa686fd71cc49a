import { mkdirSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { expect, test } from 'vitest';
import { runsWith } from '../../../src/engine/servers/predecessor.ts';
import { runScript, temporaryFolder, type Script } from '../../support/programs/processes.ts';
import { eventually } from '../../support/polling.ts';

type Running = { postgres: number; nats: number; config: pg.ClientConfig; url: string };

const OWNER = new URL('owner.ts', import.meta.url);

const answerOf = async (script: Script) => JSON.parse(await script.nextLine());

test('an owner killed with kill -9 takes both servers along, and the next one opens the same data', async () => {
  // Longer than a Unix socket's path may be, with blanks: both servers must still start.
  const dir = path.join(temporaryFolder(), 'a folder with blanks', 'é'.repeat(60), 'data');
  mkdirSync(dir, { recursive: true });
  const env = { TMPDIR: temporaryFolder() };
  const first = runScript(OWNER, [dir], { env });
  const before: Running = await answerOf(first);
  await query(before.config, 'create table kept as select 7 as value');

  const refused = await answerOf(runScript(OWNER, [dir], { env }));
  expect(refused).toEqual({ refused: expect.stringContaining(`is in use by process ${first.child.pid}`) });

  first.child.kill('SIGKILL');
  const second = runScript(OWNER, [dir], { env });
  const after: Running = await answerOf(second);
  expect(await runsWith(before.postgres, dir)).toBe(false);
  expect(await runsWith(before.nats, dir)).toBe(false);
  expect(await query(after.config, 'select value from kept')).toEqual([{ value: 7 }]);

  second.child.kill('SIGKILL');
  await eventually(async () => {
    expect(await Promise.all([runsWith(after.postgres, dir), runsWith(after.nats, dir)])).toEqual([false, false]);
  });
});

test('watchLifeline notices that the other end was closed', async () => {
  const holder = runScript(new URL('lifeline-holder.ts', import.meta.url), [], { lifeline: true });
  expect(await holder.nextLine()).toBe('watching');
  holder.child.stdio[3]?.destroy();
  expect(await holder.nextLine()).toBe('gone');
  await holder.ended;
});

async function query(config: pg.ClientConfig, text: string): Promise<unknown[]> {
  const client = new pg.Client(config);
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}
