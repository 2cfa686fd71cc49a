import { expect, onTestFinished, test } from 'vitest';
import { createWakeups, type ModelAdvanced } from '../../../../src/engine/models/read/wakeups.ts';
import { nodeFacts } from '../../../support/histories/facts.ts';
import { type Database, openDatabase, silent, startProjector } from '../engine.ts';
import { MemoryLog } from '../memory-log.ts';
import { eventually } from '../../../support/polling.ts';

function heard(database: Database) {
  const wakeups = createWakeups(database, silent);
  onTestFinished(() => wakeups.close());
  const moves: ModelAdvanced[] = [];
  return { moves, end: wakeups.onMoved((moved) => moves.push(moved)) };
}

const listens = ({ pools }: Database) =>
  eventually(async () => {
    const { rowCount } = await pools.read.query(
      `select from pg_stat_activity where datname = current_database() and query ilike 'listen%'`,
    );
    expect(rowCount).toBe(1);
  });

test('onMoved tells each move of a live generation once', async () => {
  const database = await openDatabase();
  const log = new MemoryLog();
  const { moves } = heard(database);
  await listens(database);
  startProjector(database, log);
  await eventually(() => expect(moves).toEqual([{ projection: 'supernodes', sequence: 0 }]));
  for (const sequence of [1, 2, 3]) {
    log.append(nodeFacts('a').listed());
    await eventually(() => expect(moves.at(-1)).toEqual({ projection: 'supernodes', sequence }));
  }
  expect(moves).toHaveLength(4);
});

test('onMoved hears of moves while its connection is cut, of strange payloads nothing, and nothing after its end', async () => {
  const database = await openDatabase();
  const { pools, network } = database;
  const log = new MemoryLog();
  const { moves, end } = heard(database);
  await listens(database);
  startProjector(database, log);
  await eventually(() => expect(moves).toHaveLength(1));
  for (const payload of ['', '{', 'null', '{"p":"nobody","g":1,"s":1}', '{"p":"supernodes","g":"x"}']) {
    await pools.read.query('select pg_notify($1, $2)', [`annals_${network}`, payload]);
  }
  await pools.read.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'annals wake-ups' and datname = current_database()`,
  );
  log.append(nodeFacts('a').listed());
  await eventually(() => expect(moves.at(-1)?.sequence).toBe(1));
  await listens(database);
  log.append(nodeFacts('a').listed());
  await eventually(() => expect(moves.at(-1)?.sequence).toBe(2));
  end();
  log.append(nodeFacts('a').listed());
  await eventually(async () => expect(await database.live()).toMatchObject({ position: 3 }));
  expect(moves).toHaveLength(3);
});

test('onMoved polls checkpoints when nobody says anything', async () => {
  const database = await openDatabase();
  const { pools, network } = database;
  const log = new MemoryLog();
  const { moves } = heard(database);
  const projector = startProjector(database, log);
  await eventually(() => expect(moves).toHaveLength(1));
  await projector.stop();
  await pools.bulk.query(`update annals_${network}.generations set position = 7`);
  await eventually(() => expect(moves.at(-1)?.sequence).toBe(7));
});
