import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { dropRetired } from '../../../src/engine/models/engine/generation-tables.ts';
import { withClient } from '../../../src/engine/models/pool.ts';
import { dropPrevious, switchBack } from '../../../src/engine/models/build/switch.ts';
import { rebuild } from '../../../src/engine/models/build/rebuild.ts';
import type { AnyProjection } from '../../../src/projections/all.ts';
import { type Database, databaseOf, dump, openDatabase, startProjector } from './engine.ts';
import { MemoryLog } from './memory-log.ts';
import { readOn } from './reading-on.ts';
import { expected } from './small-model.ts';
import { factsOfNodes, small } from './small-projection.ts';
import { eventually } from '../../support/polling.ts';

const many = (count: number) => fc.sample(factsOfNodes, { numRuns: count, seed: 23 });
const signal = new AbortController().signal;

const options = ({ pools, network }: Database, log: MemoryLog, projection: AnyProjection = small) => ({
  pools,
  network,
  source: log,
  projection,
  signal,
});

const reaches = (database: Database, position: number) =>
  eventually(async () => expect(await database.live()).toMatchObject({ position }));

test('switchBack makes the previous generation live again, up to the log, and the projector follows it', async () => {
  const database = await openDatabase();
  const log = new MemoryLog();
  startProjector(database, log);
  await reaches(database, log.append(...many(50)));
  await rebuild(options(database, log));
  await reaches(database, log.append(...many(30)));
  expect(await switchBack(options(database, log))).toEqual({ generation: 1, position: 80, facts: 30 });
  await reaches(database, log.append(...many(10)));
  expect(await database.live()).toMatchObject({ generation: 1 });
  expect(await database.tables()).toEqual(expected(log.facts));

  expect(await switchBack(options(database, log))).toMatchObject({ generation: 2, position: 90 });
  expect(await database.tables()).toEqual(expected(log.facts));
});

test('switching forth and back under writes and readers: no read fails, no position goes back', async () => {
  const database = await openDatabase();
  const log = new MemoryLog();
  startProjector(database, log);
  await reaches(database, log.append(...many(60)));
  const ending = new AbortController();
  onTestFinished(() => ending.abort());
  const seen = new Set<string>();
  const reading = Promise.all([1, 2].map(() => readOn(database, log, { seen, signal: ending.signal })));
  const writing = (async () => {
    while (!ending.signal.aborted) {
      log.append(...many(3));
      await new Promise(setImmediate);
    }
  })();

  const elsewhere = databaseOf(database.config, database.network);
  await rebuild(options(elsewhere, log));
  for (const generation of [1, 2, 1]) {
    seen.clear();
    expect(await switchBack(options(elsewhere, log))).toMatchObject({ generation });
    await eventually(() => expect(seen).toContain(`annals_${database.network}_supernodes_g${generation}`));
  }
  ending.abort();
  await writing;
  await reading;
  await reaches(database, log.facts.length);
  expect(await database.tables()).toEqual(expected(log.facts));
});

test('switchBack refuses where there is no previous generation, other handlers made it, or the log is another one', async () => {
  const database = await openDatabase();
  const log = new MemoryLog();
  log.append(...many(20));
  await rebuild(options(database, log));
  await expect(switchBack(options(database, log))).rejects.toMatchObject({ code: 'NOT_FOUND' });

  const newer = { ...small, version: 2 };
  await rebuild(options(database, log, newer));
  await expect(switchBack(options(database, log, newer))).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringMatching(/Generation 1 .* made by version 1 .* this program has version 2/),
  });
  expect(await switchBack(options(database, log))).toMatchObject({ generation: 1 });

  log.replace('2026-02-02T00:00:00Z', many(5));
  await expect(switchBack(options(database, log, newer))).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringMatching(/log was created anew at 2026-02-02/),
  });
  expect(await database.live()).toMatchObject({ generation: 1, version: 1, position: 20 });
});

test('the previous generation stays until the next one, or until it is dropped, once no reader can look at it', async () => {
  const database = await openDatabase();
  const { pools, network } = database;
  const log = new MemoryLog();
  log.append(...many(20));
  for (let n = 0; n < 3; n++) await rebuild(options(database, log));
  await longAgo(database);
  await withClient(pools.bulk, (client) =>
    dropRetired(client, network, { projection: small.name, keepPrevious: true }),
  );
  const schema = (generation: number) => `annals_${network}_supernodes_g${generation}`;
  await expect(dump(pools, schema(1))).rejects.toMatchObject({ code: '42P01' });
  expect(await dump(pools, schema(2))).toEqual(expected(log.facts));

  expect(await dropPrevious({ pools, network, signal }, small.name)).toEqual({ generation: 2 });
  await expect(dump(pools, schema(2))).rejects.toMatchObject({ code: '42P01' });
  await expect(dropPrevious({ pools, network, signal }, small.name)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  expect(await database.tables()).toEqual(expected(log.facts));
});

test('dropPrevious waits as long as readers may still look, and ends with its signal', async () => {
  const database = await openDatabase();
  const { pools, network } = database;
  const log = new MemoryLog();
  for (let n = 0; n < 2; n++) await rebuild(options(database, log));
  const ending = new AbortController();
  const dropping = dropPrevious({ pools, network, signal: ending.signal }, small.name);
  await eventually(async () => expect(switchBack(options(database, log))).rejects.toMatchObject({ code: 'CONFLICT' }));
  ending.abort();
  await expect(dropping).rejects.toMatchObject({ name: 'AbortError' });
  expect(await switchBack(options(database, log))).toMatchObject({ generation: 1 });
});

async function longAgo({ pools, network }: Database): Promise<void> {
  await pools.bulk.query(
    `update annals_${network}.generations set retired_at = retired_at - interval '61 seconds' where status = 'retired'`,
  );
}
