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
import type { Tables } from '../../projections/tables.ts';

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

const made = new WeakMap<pg.ClientBase, Kysely<Tables>>();

/** Kysely over one connection, which stays the caller's: whatever transaction is open there holds for every query. */
export function kyselyOver(client: pg.ClientBase): Kysely<Tables> {
  const known = made.get(client);
  if (known) return known;
  const db = new Kysely<Tables>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => driverOver(client),
      createIntrospector: (of) => new PostgresIntrospector(of),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  });
  made.set(client, db);
  return db;
}

function driverOver(client: pg.ClientBase): Driver {
  const connection: DatabaseConnection = {
    executeQuery: <R>({ sql, parameters }: CompiledQuery) => run<R>(client, sql, parameters),
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

async function run<R>(client: pg.ClientBase, text: string, parameters: readonly unknown[]): Promise<QueryResult<R>> {
  const { rows } = await client.query({ name: nameOf(text), text, values: [...parameters] });
  return { rows };
}

function refuse(what: string): never {
  throw new Error(`A reading takes queries, not ${what}`);
}
