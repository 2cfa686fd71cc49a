import { describe, expect, it, onTestFinished } from 'vitest';
import { createLeases } from '../../../src/engine/log/leases.ts';
import type { RebuildProgress } from '../../../src/engine/models/build/load.ts';
import { rebuild } from '../../../src/engine/models/build/rebuild.ts';
import { type Rebuild, rebuildingInWorker } from '../../../src/engine/models/build/rebuild-in-worker.ts';
import { runProjector } from '../../../src/engine/models/engine/projector.ts';
import { migrate } from '../../../src/engine/models/migrate.ts';
import { actions } from '../../../src/projections/actions/actions.ts';
import { projections } from '../../../src/projections/all.ts';
import { supernodes } from '../../../src/projections/fleet/supernodes.ts';
import { randomHistory } from '../../support/histories/random-history.ts';
import { freshDatabase, testNats } from '../../support/programs/servers.ts';
import { appendFacts, freshLog } from '../log/fresh-log.ts';
import { type Database, databaseOf, silent } from './engine.ts';
import { eventually } from '../../support/polling.ts';

const signal = new AbortController().signal;

type Rig = Awaited<ReturnType<typeof freshLog>> & Readonly<{ database: Database; inWorker: Rebuild }>;

/** A log with some history, an empty database, and what rebuilds in a worker. */
async function rig(facts = 200): Promise<Rig> {
  const broker = await freshLog();
  await appendFacts(broker.log, randomHistory(5, { actions: facts }));
  const postgres = await freshDatabase();
  const database = databaseOf(postgres, broker.network);
  await migrate(database);
  const { url, user, pass } = testNats();
  const where = { nats: { url, user, pass }, postgres, network: broker.network, pools: database.pools };
  const source = broker.log;
  return { ...broker, database, inWorker: rebuildingInWorker({ ...where, source, shortOfFacts: 0 }) };
}

async function rowsOf({ database }: Rig, table: string): Promise<unknown[]> {
  return database.reader.read(async ({ schemas }) => {
    const { rows } = await database.pools.read.query(`select * from ${schemas.actions}.${table} order by id`);
    return rows;
  });
}

describe('rebuildingInWorker', () => {
  it('makes the same tables as a rebuild in this thread, and tells how far it is', async () => {
    const all = await rig();
    const { database, log, network, inWorker } = all;
    await rebuild({ pools: database.pools, source: log, projection: actions, network, signal });
    const before = await rowsOf(all, 'actions');
    const told: RebuildProgress[] = [];
    const { generation, position, facts } = await inWorker(actions, { signal, onProgress: (one) => told.push(one) });
    expect({ generation, position }).toEqual({ generation: 2, position: (await log.head('ACTIONS')).lastSequence });
    expect(told.at(-1)).toMatchObject({ done: facts, total: facts });
    expect(await rowsOf(all, 'actions')).toEqual(before);
  });

  it('ends when it is cancelled, changes nothing for readers, and the next one begins anew', async () => {
    const { database, inWorker } = await rig(300);
    await inWorker(actions, { signal });
    const ending = new AbortController();
    const options = { signal: ending.signal, onProgress: () => ending.abort() };
    await expect(inWorker(actions, options)).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(await database.live('actions')).toMatchObject({ generation: 1 });
    expect(await inWorker(actions, { signal })).toMatchObject({ generation: 2 });
  });

  it('rebuilds in this thread where there is little to fold', async () => {
    const { database, log, network } = await rig(20);
    const pools = database.pools;
    const nowhere = { nats: { url: 'nats://127.0.0.1:1' }, postgres: {}, network };
    expect(await rebuildingInWorker({ ...nowhere, pools, source: log })(actions, { signal })).toMatchObject({
      generation: 1,
    });
  });

  it('fails with a StopError that names the fact which cannot be taken', async () => {
    const { nc, network, log, inWorker } = await rig();
    const { lastSequence } = await log.head('NODES');
    await nc.request(`evt.node.${network}.x`, 'no event');
    await expect(inWorker(supernodes, { signal })).rejects.toMatchObject({
      name: 'StopError',
      sequence: lastSequence + 1,
    });
  });

  it('fails with CONFLICT while another rebuild of the projection runs', async () => {
    const { database, log, network, inWorker } = await rig();
    let second: Promise<unknown> | undefined;
    const head = async () => {
      second ??= inWorker(actions, { signal }).catch((caught: unknown) => caught);
      await second;
      return log.head('ACTIONS');
    };
    await rebuild({ pools: database.pools, source: { ...log, head }, projection: actions, network, signal });
    expect(await second).toMatchObject({ code: 'CONFLICT' });
  });
});

describe('runProjector with rebuilds in a worker', () => {
  it('builds the first generation of every projection and follows the log with it', async () => {
    const { database, log, network, nc, inWorker } = await rig();
    const ending = new AbortController();
    const { pools } = database;
    const leases = createLeases(nc, network, { ttlMs: 1000 });
    const running = runProjector({
      pools,
      source: log,
      leases,
      projections,
      network,
      rebuilding: inWorker,
      log: silent,
      signal: ending.signal,
    });
    onTestFinished(async () => {
      ending.abort();
      await running;
    });
    await appendFacts(log, randomHistory(6, { actions: 0 }));
    for (const { name, stream } of projections) {
      const { lastSequence: position } = await log.head(stream);
      await eventually(async () => expect(await database.live(name)).toMatchObject({ position }));
    }
  });
});
