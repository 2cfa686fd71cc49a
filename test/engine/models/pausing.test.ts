import fc from 'fast-check';
import { expect, test } from 'vitest';
import { rebuild } from '../../../src/engine/models/build/rebuild.ts';
import { switchBack } from '../../../src/engine/models/build/switch.ts';
import type { Leasing } from '../../../src/engine/log/leases.ts';
import { pauseProjection, resumeProjection } from '../../../src/engine/models/engine/pausing.ts';
import { eventually } from '../../support/polling.ts';
import { type Database, openDatabase, startProjector } from './engine.ts';
import { generousLeases, MemoryLog } from './memory-log.ts';
import { expected } from './small-model.ts';
import { factsOfNodes, small } from './small-projection.ts';

const many = (count: number) => fc.sample(factsOfNodes, { numRuns: count, seed: 7 });
const of = ({ network }: Database) => ({ network, projection: small.name });
const reaches = (database: Database, position: number) =>
  eventually(async () => expect(await database.live()).toMatchObject({ position }));

test('pauseProjection stops a projection at once, over restarts, and resumeProjection lets it go on from there', async () => {
  const database = await openDatabase();
  const log = new MemoryLog();
  log.append(...many(20));
  const first = startProjector(database, log);
  await reaches(database, 20);
  const paused = await pauseProjection(database.pools.write, of(database));
  expect(paused).toEqual({ generation: 1, position: 20, pausedAt: expect.stringMatching(/^\d{4}-.*Z$/) });
  const before = await database.tables();
  log.append(...many(30));
  await first.stop();
  const leads = Promise.withResolvers<void>();
  const hold: Leasing['hold'] = async (name, signal, run) =>
    await generousLeases.hold(name, signal, async (lease) => {
      leads.resolve();
      await run(lease);
    });
  const second = startProjector(database, log, { leases: { ...generousLeases, hold } });
  await leads.promise;
  expect(await pauseProjection(database.pools.write, of(database))).toEqual(paused);
  expect(await database.tables()).toEqual(before);
  expect(await resumeProjection(database.pools.write, of(database))).toEqual({ ...paused, pausedAt: null });
  await reaches(database, 50);
  expect(await database.tables()).toEqual(expected(log.facts));
  await second.stop();
});

test('pauseProjection lets no fact be applied after it returned, however many come at the same moment', async () => {
  const database = await openDatabase();
  const log = new MemoryLog();
  log.batchSize = 1;
  startProjector(database, log);
  await reaches(database, 0);
  for (const facts of [many(40), many(40), many(40)]) {
    log.append(...facts);
    const { position } = await pauseProjection(database.pools.write, of(database));
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
    expect(await database.live()).toMatchObject({ position });
    await resumeProjection(database.pools.write, of(database));
    await reaches(database, log.facts.length);
  }
  expect(await database.tables()).toEqual(expected(log.facts));
});

test('a paused projection stays paused over a rebuild and a switch back', async () => {
  const database = await openDatabase();
  const { pools, network } = database;
  const log = new MemoryLog();
  const options = { pools, network, source: log, projection: small, signal: new AbortController().signal };
  log.append(...many(20));
  startProjector(database, log);
  await reaches(database, 20);
  const { pausedAt } = await pauseProjection(pools.write, of(database));
  log.append(...many(10));
  await rebuild(options);
  expect(await database.live()).toMatchObject({ generation: 2, position: 30, pausedAt });
  await switchBack(options);
  expect(await database.live()).toMatchObject({ generation: 1, position: 30, pausedAt });
  await resumeProjection(pools.write, of(database));
  await reaches(database, log.append(...many(5)));
  expect(await database.tables()).toEqual(expected(log.facts));
});

test('pauseProjection refuses what is not built yet', async () => {
  const database = await openDatabase();
  await expect(pauseProjection(database.pools.write, of(database))).rejects.toMatchObject({ code: 'NOT_FOUND' });
});
