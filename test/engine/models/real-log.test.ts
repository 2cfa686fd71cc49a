import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { catalogue, type Fact } from '../../../src/events/catalogue.ts';
import { createLeases } from '../../../src/engine/log/leases.ts';
import type { Log } from '../../../src/engine/log/log.ts';
import { rebuild } from '../../../src/engine/models/build/rebuild.ts';
import { type AnyProjection, projections } from '../../../src/projections/all.ts';
import { foldAll } from '../../support/histories/load-projection.ts';
import { randomHistory } from '../../support/histories/random-history.ts';
import { appendFacts, freshLog } from '../log/fresh-log.ts';
import { type Database, openDatabase, startProjector } from './engine.ts';
import { eventually } from '../../support/polling.ts';

test('runProjector makes every read model from the real log, hands over, and a rebuild makes them again', async () => {
  const { nc, network, log } = await freshLog();
  const database = await openDatabase();
  const leases = createLeases(nc, network, { ttlMs: 1000 });
  const [history, later] = [randomHistory(3, { actions: 60 }), randomHistory(4, { actions: 0 }).filter(isProbe)];
  await appendFacts(log, history);
  const first = startProjector(database, log, { projections, leases });
  startProjector(database, log, { projections, leases });
  await followsAll(database, log, history);

  const stopped = first.stop();
  await appendFacts(log, later);
  await stopped;
  await followsAll(database, log, [...history, ...later]);

  const { pools } = database;
  for (const projection of projections) {
    await rebuild({ pools, network: database.network, source: log, projection, signal: new AbortController().signal });
  }
  await followsAll(database, log, [...history, ...later]);
  for (const { name } of projections) expect((await database.live(name))?.generation).toBeGreaterThan(1);
});

const isProbe = ({ type }: Fact): boolean => catalogue[type].kind === 'probe';

/** Waits until every projection is at the end of its stream, then compares it with a fold in memory. */
async function followsAll(database: Database, log: Log, facts: readonly Fact[]): Promise<void> {
  for (const projection of projections) {
    const { lastSequence } = await log.head(projection.stream);
    const atTheEnd = { position: lastSequence, stoppedReason: null };
    await eventually(async () => expect(await database.live(projection.name)).toMatchObject(atTheEnd));
    expect(await kept(database, projection)).toEqual(folded(projection, facts));
  }
}

async function kept({ reader }: Database, { name, table, derivedTables, counters = [] }: AnyProjection) {
  return reader.read(async ({ db, schemas }) => {
    const all = async (from: string, columns = sql`*`) =>
      (await sql<Record<string, unknown>>`select ${columns} from ${sql.id(schemas[name], from)}`.execute(db)).rows;
    const rows = await all(table.name);
    const own = new Set(['position', 'removed', ...Object.keys(table.generated ?? {})]);
    const withoutOwn = (row: object) => Object.fromEntries(Object.entries(row).filter(([column]) => !own.has(column)));
    const derived = await Promise.all(
      derivedTables.map((one) => all(one.name, sql.join(Object.keys(one.columns).map((column) => sql.id(column))))),
    );
    return {
      rows: unordered(rows.filter(({ removed }) => removed === false).map(withoutOwn)),
      removed: rows.filter(({ removed }) => removed === true).map((row) => row[table.key[0] ?? '']),
      derived: unordered(derived.flat()),
      counters: unordered((await Promise.all(counters.map((one) => all(one.table.name)))).flat()),
    };
  });
}

function folded(projection: AnyProjection, facts: readonly Fact[]) {
  const { rows, removed, derived, counters } = foldAll(projection, facts);
  return {
    rows: unordered(rows),
    removed,
    derived: unordered(derived.map(({ values }) => values)),
    counters: unordered([...counters.values()].flat()),
  };
}

/** The same for the same rows, whatever their order and that of their columns. */
function unordered(rows: readonly object[]): unknown[] {
  const text = (row: object) => JSON.stringify(Object.entries(row).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return rows.toSorted((a, b) => (text(a) < text(b) ? -1 : 1));
}
