import { expect, it } from 'vitest';
import { createInstants } from '../../../src/engine/archive/instants.ts';
import { metaSchema } from '../../../src/engine/models/engine/generations.ts';
import type { StreamName } from '../../../src/events/streams.ts';
import { type Database, openDatabase } from '../models/engine.ts';

const first = BigInt(Date.UTC(2026, 0, 1)) * 1_000_000n;
/** The time of a second of the test. */
const at = (second: number): bigint => first + BigInt(second) * 1_000_000_000n;

/** Archives events by the seconds at which they were stored. */
async function archive({ pools, network }: Database, stream: StreamName, events: Record<number, number>) {
  const sequences = Object.keys(events);
  const nanos = Object.values(events).map((second) => String(at(second)));
  await pools.archive.query(
    `insert into ${metaSchema(network)}.archive
      select $1, sequence, '', '', nanos, '', '', '' from unnest($2::int8[], $3::int8[]) one (sequence, nanos)
      on conflict (stream, sequence) do update set stored_nanos = excluded.stored_nanos`,
    [stream, sequences, nanos],
  );
}

async function openInstants() {
  const database = await openDatabase();
  let [queries, asked, last] = [0, 0, 5];
  database.pools.read.on('acquire', () => (queries += 1));
  const head = async () => {
    asked += 1;
    return { lastSequence: last };
  };
  const instants = createInstants({ ...database, head });
  return { database, instants, queries: () => queries, asked: () => asked, setLast: (to: number) => (last = to) };
}

it('keeps the time of an event that is there, by the incarnation of its stream', async () => {
  const { database, instants, queries } = await openInstants();
  await archive(database, 'ACTIONS', { 1: 10, 2: 20, 5: 50 });
  const asked = async (sequence: number, incarnation?: string) => {
    const before = queries();
    return [await instants.storedAt('ACTIONS', sequence, incarnation), queries() - before];
  };
  expect(await asked(2, 'one')).toEqual([at(20), 1]);
  expect(await asked(2, 'one')).toEqual([at(20), 0]);
  expect(await asked(2, 'two')).toEqual([at(20), 1]);
  expect(await asked(2)).toEqual([at(20), 1]);
  // Nothing is there yet, but something may be after a repair.
  expect(await asked(4, 'one')).toEqual([at(20), 1]);
  await archive(database, 'ACTIONS', { 4: 40 });
  expect(await asked(4, 'one')).toEqual([at(40), 1]);
});

it('finds the position of a stream at the time of an event of another', async () => {
  const { database, instants } = await openInstants();
  await archive(database, 'ACTIONS', { 1: 10, 2: 20, 4: 40, 5: 50 });
  await archive(database, 'NODES', { 1: 5, 2: 20, 3: 45, 5: 50 });
  const positions = [0, 1, 2, 3, 4, 5].map(async (sequence) => [
    await instants.positionWhen('NODES', { stream: 'ACTIONS', sequence }),
    await instants.positionAt('NODES', at(sequence * 10)),
  ]);
  // There is no third event: it has the time of the second one.
  expect(await Promise.all(positions)).toEqual([
    [0, 0],
    [1, 1],
    [2, 2],
    [2, 2],
    [2, 2],
    [5, 5],
  ]);
});

it('keeps the position at an event before the end, and the time of the event', async () => {
  const { database, instants, queries } = await openInstants();
  await archive(database, 'ACTIONS', { 1: 10, 2: 20, 5: 50 });
  await archive(database, 'NODES', { 1: 5, 2: 15, 5: 30 });
  const asked = async (sequence: number, incarnation?: string) => {
    const before = queries();
    return [await instants.positionWhen('NODES', { stream: 'ACTIONS', sequence, incarnation }), queries() - before];
  };
  expect(await asked(2, 'one')).toEqual([2, 1]);
  expect(await asked(2, 'one')).toEqual([2, 0]);
  expect(await asked(2, 'two')).toEqual([2, 1]);
  expect(await asked(2)).toEqual([2, 1]);
  const before = queries();
  expect([await instants.storedAt('ACTIONS', 2, 'one'), queries() - before]).toEqual([at(20), 0]);
  // The stream may still go on before the event.
  expect(await asked(5, 'one')).toEqual([5, 1]);
  expect(await asked(5, 'one')).toEqual([5, 1]);
});

it('asks the broker for its end once for times long past, and each time for later ones', async () => {
  const { database, instants, asked, setLast } = await openInstants();
  await archive(database, 'NODES', { 1: 5, 2: 20, 5: 50 });
  expect(await instants.positionAt('NODES', at(60))).toBe(5);
  expect(await instants.positionAt('NODES', at(70))).toBe(5);
  expect(asked()).toBe(1);
  setLast(6);
  const recent = instants.positionAt('NODES', BigInt(Date.now()) * 1_000_000n);
  await archive(database, 'NODES', { 6: 80 });
  expect([await recent, asked()]).toEqual([6, 2]);
});
