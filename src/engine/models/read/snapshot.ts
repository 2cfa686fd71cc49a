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
import { AppError } from '../../../kit/errors.ts';
import { type ProjectionName, projectionNames } from '../../../projections/projection.ts';
import type { Followed, Reading } from '../../../projections/reading.ts';
import type { Tables } from '../../../projections/tables.ts';
import type { RunStatement, ResultRows, Statement } from '../../../kit/shims/pg/batch.ts';
import { metaSchema } from '../engine/generations.ts';

/** A live generation as readers see it. */
export type Live = Readonly<{ projection: ProjectionName; version: number; schema: string; followed: Followed }>;
/** The live generations by projection. */
export type LiveGenerations = ReadonlyMap<ProjectionName, Live>;

/** The transaction of a read has failed by a statement of another read: it is repeated. */
export class SnapshotLost extends AppError {
  constructor() {
    super('UNAVAILABLE', 'Queries that were made together with this one failed again and again; try again soon');
  }
}

/** The statement that finds the live generations of a network. */
export const findLive = (network: string): Statement => ({
  name: `live.${network}`,
  text: `select projection, version, schema_name as schema, stream, incarnation, position
    from ${metaSchema(network)}.generations where status = 'live'`,
});

type LiveRow = Omit<Live, 'followed'> & Omit<Followed, 'sequence'> & Readonly<{ position: number }>;

/**
 * The live generations from the rows of `findLive`: each is the known one where its row says the same, and so is the
 * map where nothing moved. Most reads meet nothing else, and what each of them would make anew outlives it by far: it
 * is collected with old objects only.
 */
export function liveFrom(rows: ResultRows, known?: LiveGenerations): LiveGenerations {
  const all = rows as readonly LiveRow[];
  if (known?.size === all.length && all.every((row) => isOf(row, known.get(row.projection)))) return known;
  return new Map(all.map((row) => [row.projection, liveOf(row, known?.get(row.projection))]));
}

function liveOf(row: LiveRow, known: Live | undefined): Live {
  if (known && isOf(row, known)) return known;
  const { projection, version, schema, stream, incarnation, position: sequence } = row;
  return { projection, version, schema, followed: { stream, incarnation, sequence } };
}

const isOf = ({ version, schema, stream, incarnation, position }: LiveRow, known: Live | undefined): boolean =>
  known?.version === version &&
  known.schema === schema &&
  known.followed.stream === stream &&
  known.followed.incarnation === incarnation &&
  known.followed.sequence === position;

type Requesting = Readonly<{
  /** The same for all snapshots of one database. */
  reader: object;
  /** Which version of each projection this program reads: the tables of another one mean something else. */
  versions: ReadonlyMap<string, number>;
}>;

/** The reading of a transaction, whose generations are those of its own instant. */
export function readingOf({ reader, versions }: Requesting, run: RunStatement, taken: LiveGenerations): Reading {
  const of = (name: ProjectionName): Live => {
    const live = taken.get(name);
    if (!live)
      throw new AppError('UNAVAILABLE', `Projection ${name} is being built for the first time; try again soon`);
    const version = versions.get(name) ?? live.version;
    if (live.version < version)
      throw new AppError(
        'UNAVAILABLE',
        `Projection ${name} is being built anew for version ${version}; try again soon`,
      );
    if (live.version > version)
      throw new AppError(
        'UNAVAILABLE',
        `Projection ${name} is of version ${live.version} by now, and this program reads version ${version}: update it`,
      );
    return live;
  };
  let db: Kysely<Tables> | undefined;
  return {
    get db() {
      return (db ??= kyselyOver(run));
    },
    run: (query) => run(statementOf(query)),
    reader,
    schemas: schemasOf(of),
    followed: positionsOf(of),
  };
}

type Find = (name: ProjectionName) => Live;

const schemasOf = recordsOf(({ schema }) => schema);
const positionsOf = recordsOf(({ followed }) => followed);

/** Makes records whose values are computed on access, so that a read needs only the projections that it names. */
function recordsOf<T>(value: (live: Live) => T): (find: Find) => Readonly<Record<ProjectionName, T>> {
  const shared = {};
  for (const name of projectionNames)
    Object.defineProperty(shared, name, {
      get(this: { find: Find }): T {
        return value(this.find(name));
      },
    });
  return (find) => Object.assign(Object.create(shared) as Readonly<Record<ProjectionName, T>>, { find });
}

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

const statementOf = ({ sql, parameters }: Pick<CompiledQuery, 'sql' | 'parameters'>): Statement => ({
  name: nameOf(sql),
  text: sql,
  values: [...parameters],
});

const adapter = new PostgresAdapter();
/** Of all: it keeps nothing from one query to the next, and each one binds a hundred functions, which is 6 KB. */
const compiler = new PostgresQueryCompiler();

/** Kysely that sends statements with `ask`. */
const kyselyOver = (ask: RunStatement): Kysely<Tables> =>
  new Kysely<Tables>({
    dialect: {
      createAdapter: () => adapter,
      createDriver: () => driverOver(ask),
      createIntrospector: (of) => new PostgresIntrospector(of),
      createQueryCompiler: () => compiler,
    },
  });

function driverOver(ask: RunStatement): Driver {
  const connection: DatabaseConnection = {
    executeQuery: async <R>(query: CompiledQuery): Promise<QueryResult<R>> => ({
      rows: (await ask(statementOf(query))) as R[],
    }),
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
