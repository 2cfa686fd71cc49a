import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { nodeFacts } from '../../../support/histories/facts.ts';
import { eventually } from '../../../support/polling.ts';
import { withOneNode } from '../reading-on.ts';

async function withReads() {
  const database = await withOneNode();
  const waiting = sql<{ pid: number }>`select pg_backend_pid() as pid`;
  const read = async () =>
    await database.reader.read(async ({ db, followed }) => {
      const { rows } = await waiting.execute(db);
      return { pid: rows[0]?.pid, position: followed.supernodes.sequence };
    });
  /** The processes that wait in a transaction, as `of` makes them a column. */
  const kept = async (of: 'pid' | 'pg_terminate_backend(pid)'): Promise<unknown[]> => {
    const { rows } = await database.pools.watch.query<{ one: unknown }>(
      `select ${of} as one from pg_stat_activity where state = 'idle in transaction' and datname = current_database()`,
    );
    return rows.map(({ one }) => one);
  };
  return { ...database, read, kept };
}

test('a read that follows another takes its connection, and sees what was written since', async () => {
  const { read, log, live } = await withReads();
  const { pid } = await read();
  expect(await read()).toEqual({ pid, position: 1 });
  log.append(nodeFacts('a').changed({ note: 'later' }));
  await eventually(async () => expect(await live()).toMatchObject({ position: 2 }));
  expect(await read()).toMatchObject({ position: 2 });
});

test('a connection that nobody follows on is the pool’s again, out of its transaction', async () => {
  const { read, kept, pools } = await withReads();
  for (let before = 0; before < 3; before += 1) await read();
  await eventually(async () => expect([await kept('pid'), pools.read.idleCount]).toEqual([[], pools.read.totalCount]));
});

test('a read does not notice that the connection which was kept for it was lost', async () => {
  const { read, kept } = await withReads();
  // Kept for a moment only: on a busy machine the first attempts may come too late.
  for (let lost: unknown[] = []; lost.length === 0;) {
    await read();
    lost = await kept('pg_terminate_backend(pid)');
    expect(await read()).toMatchObject({ position: 1 });
  }
});
