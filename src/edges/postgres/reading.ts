import type pg from 'pg';
import { AppError } from '../../commands/errors.ts';
import { projectionNames, type ProjectionName } from '../../projections/projection.ts';
import type { Followed, Reading } from '../../projections/reading.ts';
import { toReadError } from './database-error.ts';
import { type Generation, listGenerations } from './generations.ts';
import { kyselyOver } from './kysely-client.ts';
import { metaSchema } from './names.ts';
import { type Pools, sendAll } from './pool.ts';

/** Reads what projections made. */
export type Reader = Readonly<{
  /**
   * Runs queries against one snapshot of all live generations; their positions are of that same instant.
   *
   * Fails with `UNAVAILABLE` when PostgreSQL is away or its tables are being made, and when `use` asks for a projection that has no live generation yet.
   *
   * @example await reader.read(rounds)
   */
  read: <T>(use: (reading: Reading) => Promise<T>) => Promise<T>;
  /** How every projection stands, its unfinished generations included. */
  generations: () => Promise<readonly Generation[]>;
}>;

/** Makes the reader of a network; it opens nothing of its own. */
export function createReader({ pools, network }: { pools: Pools; network: string }): Reader {
  const snapshot = [
    { text: 'begin isolation level repeatable read, read only' },
    {
      name: `live.${network}`,
      text: `select projection, schema_name as schema, stream, incarnation, position
        from ${metaSchema(network)}.generations where status = 'live'`,
    },
  ];
  return {
    read: async (use) => {
      const client = await pools.read.connect().catch(fail);
      try {
        const [, live] = await sendAll(client, snapshot);
        const result = await use(readingOf(client, live?.rows ?? []));
        release(client);
        return result;
      } catch (caught) {
        release(client);
        throw toReadError(caught);
      }
    },
    generations: () => listGenerations(pools.read, network).catch(fail),
  };
}

/** Ends the transaction, which nobody has to wait for. */
function release(client: pg.PoolClient): void {
  client.query('commit').then(
    () => client.release(),
    () => client.release(true),
  );
}

type Live = Followed & Pick<Generation, 'projection' | 'schema' | 'position'>;

function readingOf(client: pg.PoolClient, rows: readonly Live[]): Reading {
  const live = new Map(rows.map((row) => [row.projection, row]));
  const of = (name: ProjectionName): Live => {
    const found = live.get(name);
    if (!found)
      throw new AppError('UNAVAILABLE', `Projection ${name} is being built for the first time; try again soon`);
    return found;
  };
  return {
    db: kyselyOver(client),
    schemas: onDemand((name) => of(name).schema),
    followed: onDemand((name) => {
      const { stream, incarnation, position } = of(name);
      return { stream, incarnation, sequence: position };
    }),
  };
}

/** A record whose values are found when they are asked for, so that a read needs only the projections that it names. */
function onDemand<T>(find: (name: ProjectionName) => T): Readonly<Record<ProjectionName, T>> {
  const record = {};
  for (const name of projectionNames) Object.defineProperty(record, name, { enumerable: true, get: () => find(name) });
  return record as Readonly<Record<ProjectionName, T>>;
}

function fail(caught: unknown): never {
  throw toReadError(caught);
}
