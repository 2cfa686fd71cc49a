import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Recorded } from '../../../src/commands/ports.ts';
import { createApplier } from '../../../src/engine/models/engine/apply.ts';
import { foldingOf, storedTables } from '../../../src/engine/models/engine/folding.ts';
import { createGeneration, createKey } from '../../../src/engine/models/engine/generation-tables.ts';
import type { Generation } from '../../../src/engine/models/engine/generations.ts';
import { withClient } from '../../../src/engine/models/pool.ts';
import { nodeFacts } from '../../support/histories/facts.ts';
import { type Database, dump, openDatabase } from './engine.ts';
import { MemoryLog } from './memory-log.ts';
import { expected } from './small-model.ts';
import { factsOfNodes, small } from './small-projection.ts';
import { eventually } from '../../support/polling.ts';

const folding = foldingOf(small);

const newGeneration = ({ pools, network }: Database): Promise<Generation> =>
  withClient(pools.bulk, async (client) => {
    const generation = await createGeneration(client, folding, { network, incarnation: 'one' });
    for (const table of storedTables(folding)) await createKey(client, generation.schema, table);
    return generation;
  });

/** Where a batch ends, and how many facts before it come again with it, the last of them twice. */
const cuts = fc.array(fc.record({ take: fc.integer({ min: 1, max: 9 }), again: fc.integer({ min: 0, max: 5 }) }), {
  minLength: 1,
});

function* delivered(
  history: readonly Recorded[],
  plan: readonly { take: number; again: number }[],
): Generator<Recorded[]> {
  let at = 0;
  for (let step = 0; at < history.length; step++) {
    const { take, again } = plan[step % plan.length] ?? { take: 1, again: 0 };
    const batch = history.slice(Math.max(0, at - again), at + take);
    yield again % 2 === 0 ? batch : [...batch, ...batch.slice(-1)];
    at += take;
  }
}

test('createApplier gives the same tables and counters however a history is split, overlapped and repeated', async () => {
  const database = await openDatabase();
  const { pools, network } = database;
  await fc.assert(
    fc.asyncProperty(fc.array(factsOfNodes, { minLength: 1, maxLength: 60 }), cuts, async (facts, plan) => {
      const log = new MemoryLog();
      log.append(...facts);
      const generation = await newGeneration(database);
      const applier = createApplier(folding, generation, network);
      for (const batch of delivered(log.facts, plan)) {
        expect(await withClient(pools.write, (client) => applier.apply(client, batch))).toBe(true);
      }
      expect(applier.position()).toBe(facts.length);
      expect(await dump(pools, generation.schema)).toEqual(expected(log.facts));
    }),
    { numRuns: 60 },
  );
});

test('apply refuses whoever is not at the checkpoint or not of the epoch, and changes nothing', async () => {
  const database = await openDatabase();
  const { pools, network } = database;
  const log = new MemoryLog();
  log.append(nodeFacts('a').listed(), nodeFacts('b').listed());
  const generation = await newGeneration(database);
  const apply = (one: Generation, facts: readonly Recorded[]) =>
    withClient(pools.write, (client) => createApplier(folding, one, network).apply(client, facts));

  expect(await apply({ ...generation, epoch: 1 }, log.facts)).toBe(false);
  expect(await apply({ ...generation, status: 'live' }, log.facts)).toBe(false);
  expect(await apply(generation, log.facts.slice(0, 1))).toBe(true);
  expect(await apply(generation, log.facts)).toBe(false);
  expect(await dump(pools, generation.schema)).toEqual(expected(log.facts.slice(0, 1)));
});

test('apply leaves tables and checkpoint as they were when its connection is cut in the middle of a batch', async () => {
  const database = await openDatabase();
  const { pools, network } = database;
  const log = new MemoryLog();
  log.append(nodeFacts('a').listed(), nodeFacts('a').changed({ account: 'x' }));
  const generation = await newGeneration(database);
  const apply = () =>
    withClient(pools.write, (client) => createApplier(folding, generation, network).apply(client, log.facts));

  const cut = await withClient(pools.bulk, async (other) => {
    await other.query(`begin; lock table ${generation.schema}.notes in exclusive mode`);
    const applying = apply().catch((caught: unknown) => caught);
    await eventually(async () => expect(await cutWhoeverWaits(pools.read)).toBe(1));
    await other.query('rollback');
    return applying;
  });
  expect(cut).toMatchObject({ code: 'UNAVAILABLE' });
  expect(await dump(pools, generation.schema)).toEqual(expected([]));

  expect(await apply()).toBe(true);
  expect(await dump(pools, generation.schema)).toEqual(expected(log.facts));
});

async function cutWhoeverWaits(pool: Database['pools']['read']): Promise<number | null> {
  const { rowCount } = await pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
  );
  return rowCount;
}
