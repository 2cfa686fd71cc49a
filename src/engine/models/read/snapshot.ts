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
import { AppError } from '../../../kit/errors.ts';
import { type ProjectionName, projectionNames } from '../../../projections/projection.ts';
import type { Followed, Reading } from '../../../projections/reading.ts';
import type { Tables } from '../../../projections/tables.ts';
import { type RunStatement, type ResultRows, sendBatch, type Statement } from '../../../kit/shims/pg/batch.ts';
import { metaSchema } from '../engine/generations.ts';

/** A live generation as readers see it. */
export type Live = Readonly<{ projection: ProjectionName; version: number; schema: string; followed: Followed }>;
/** The live generations by projection. */
export type LiveGenerations = ReadonlyMap<ProjectionName, Live>;

/** The live generations are not those that a snapshot assumed: its results may be wrong, and the read is repeated. */
export class GenerationChanged extends AppError {
  /** Whether they changed while the snapshot was read, after queries of it had seen what it assumed. */
  readonly isBetweenQueries: boolean;
  constructor(isBetweenQueries: boolean) {
    super('UNAVAILABLE', 'The read models were replaced again and again while they were read; try again soon');
    this.name = 'Moved';
    this.isBetweenQueries = isBetweenQueries;
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
  taken: LiveGenerations;
}>;

type Guessing = Readonly<{
  /** Gives the connection of the snapshot, the same one each time. */
  connect: () => Promise<pg.ClientBase>;
  live: Statement;
  onLive: (now: LiveGenerations) => void;
  /** The generations were read for this snapshot: they are certain unless it sends statements. */
  isRead: boolean;
}>;

/** What was sent: whether the generations are those assumed, and the answers once they are. */
type Sent = Readonly<{ sound: Promise<void>; answers: readonly Promise<ResultRows>[] }>;

/**
 * Optimistic: assumes the generations seen before, sends the query for their positions in the same round trip, and
 * fails with `GenerationChanged` instead of answering when one has changed, after it has reported the present ones.
 *
 * A position that has only advanced since, and that nobody has read, changes nothing: it is as its first answer has it.
 */
export function optimisticSnapshot(requesting: Requesting, { connect, live, onLive, isRead }: Guessing): Reading {
  let { taken } = requesting;
  const named = new Set<ProjectionName>();
  const positioned = new Set<ProjectionName>();
  let checked = 0;
  let hasSent = false;
  const check = (rows: ResultRows): void => {
    const now = liveFrom(rows, taken);
    if (now !== taken) onLive(now);
    const changed = [...named].filter((name) => taken.get(name) !== now.get(name));
    if (changed.some((name) => checked > 0 || positioned.has(name) || !isAdvanced(taken.get(name), now.get(name))))
      throw new GenerationChanged(checked > 0);
    if (checked === 0) taken = now;
    checked = named.size;
  };
  const send = (statements: readonly Statement[]): Sent => {
    hasSent = true;
    const sent = connect().then((client) => sendBatch(client, [live, ...statements]));
    const sound = sent.then(async ([match]) => check((await match) ?? []));
    const answers = statements.map(async (_, at) => {
      await sound;
      return (await (await sent)[at + 1]) ?? [];
    });
    return { sound, answers };
  };
  const confirmed = async (): Promise<void> => {
    const isCertain = isRead && !hasSent;
    if (checked < named.size && !isCertain) await send([]).sound;
  };
  const request = gather((statements) => send(statements).answers);
  return readingOf(requesting, { named, positioned, taken: () => taken, ask: request, confirmed });
}

/** A snapshot within an open transaction that has read the generations. */
export function heldSnapshot(querying: Requesting, client: pg.ClientBase): Reading {
  const request = gather((statements) => sendBatch(client, statements));
  const [named, positioned] = [new Set<ProjectionName>(), new Set<ProjectionName>()];
  const confirmed = (): Promise<void> => Promise.resolve();
  return readingOf(querying, { named, positioned, taken: () => querying.taken, ask: request, confirmed });
}

type Ways = Readonly<{
  /** The projections that were named, and those whose position was read. */
  named: Set<ProjectionName>;
  positioned: Set<ProjectionName>;
  taken: () => LiveGenerations;
  ask: RunStatement;
  confirmed: () => Promise<void>;
}>;

function readingOf({ reader, versions }: Requesting, ways: Ways): Reading {
  const { named, positioned, taken, ask, confirmed } = ways;
  const of = (name: ProjectionName): Live => {
    named.add(name);
    const live = taken().get(name);
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
  const withPosition = (name: ProjectionName): Live => {
    positioned.add(name);
    return of(name);
  };
  let db: Kysely<Tables> | undefined;
  return {
    get db() {
      return (db ??= kyselyOver(ask));
    },
    run: (query) => ask(statementOf(query)),
    reader,
    schemas: schemasOf(of),
    followed: positionsOf(withPosition),
    confirmed,
  };
}

/** Statements that are sent within one turn of the event loop leave together. */
function gather(send: (statements: readonly Statement[]) => readonly Promise<ResultRows>[]): RunStatement {
  let waiting: { statement: Statement; answer: (rows: Promise<ResultRows>) => void }[] = [];
  const leave = (): void => {
    const all = waiting;
    waiting = [];
    try {
      const answers = send(all.map(({ statement }) => statement));
      all.forEach(({ answer }, at) => answer(answers[at] ?? Promise.resolve([])));
    } catch (caught) {
      // A statement that cannot be sent fails its caller, not the turn that it leaves in.
      for (const { answer } of all) answer(Promise.reject(caught));
    }
  };
  return async (statement) =>
    await new Promise((answer) => {
      if (waiting.length === 0) process.nextTick(leave);
      waiting.push({ statement, answer });
    });
}

/** Returns whether a generation is the same one further on in the same stream. */
function isAdvanced(a: Live | undefined, b: Live | undefined): boolean {
  return a?.schema === b?.schema && a?.version === b?.version && a?.followed.incarnation === b?.followed.incarnation;
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
