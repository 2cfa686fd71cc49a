import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely';
import type pg from 'pg';
import type { Tables } from '../../../projections/tables.ts';
import type { Ask } from '../../driver-shims/pg-batch.ts';

/** Statements that are named at once; those of dropped generations make room when it is full. */
const mostNames = 500;
const names = new Map<string, string>();
let named = 0;

/** A name for a statement, the same each time, so that a connection parses and plans it once. */
function nameOf(text: string): string {
  const known = names.get(text);
  if (known !== undefined) return known;
  if (names.size >= mostNames) names.clear();
  named += 1;
  const name = `read.${named}`;
  names.set(text, name);
  return name;
}

type Asking = { ask: Ask };
const made = new WeakMap<pg.ClientBase, Readonly<{ db: Kysely<Tables>; asking: Asking }>>();

/** Kysely over one connection, which stays the caller's; it asks as the last caller had it ask. */
export function kyselyOver(client: pg.ClientBase, ask: Ask): Kysely<Tables> {
  const known = made.get(client);
  if (known) {
    known.asking.ask = ask;
    return known.db;
  }
  const asking: Asking = { ask };
  const db = new Kysely<Tables>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => driverOver(asking),
      createIntrospector: (of) => new PostgresIntrospector(of),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  });
  made.set(client, { db, asking });
  return db;
}

function driverOver(asking: Asking): Driver {
  const connection: DatabaseConnection = {
    executeQuery: async <R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> => {
      const rows = await asking.ask({ name: nameOf(sql), text: sql, values: [...parameters] });
      return { rows: rows as R[] };
    },
    streamQuery: () => refuse('streaming'),
  };
  const nothing = (): Promise<void> => Promise.resolve();
  return {
    init: nothing,
    acquireConnection: () => Promise.resolve(connection),
    beginTransaction: () => refuse('a transaction of its own'),
    commitTransaction: () => refuse('a transaction of its own'),
    rollbackTransaction: () => refuse('a transaction of its own'),
    releaseConnection: nothing,
    destroy: nothing,
  };
}

function refuse(what: string): never {
  throw new Error(`A reading takes queries, not ${what}`);
}
