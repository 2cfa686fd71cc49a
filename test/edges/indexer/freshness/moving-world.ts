import type { Fact } from '../../../../src/events/catalogue.ts';
import { streamOf } from '../../../../src/events/catalogue.ts';
import type { StreamName } from '../../../../src/events/streams.ts';
import { createWakeups } from '../../../../src/engine/models/read/wakeups.ts';
import { createReader } from '../../../../src/engine/models/read/reading.ts';
import type { FactSource } from '../../../../src/engine/models/engine/source.ts';
import { projections } from '../../../../src/projections/all.ts';
import type { ProjectionName } from '../../../../src/projections/projection.ts';
import { positionToken } from '../../../../src/edges/indexer/rest/headers.ts';
import { type Database, openDatabase, silent, startProjector } from '../../../engine/models/engine.ts';
import { MemoryLog } from '../../../engine/models/memory-log.ts';
import { eventually } from '../../../support/polling.ts';
import { pastOf, type RestServer, startRest } from '../rest/rest-server.ts';

/** An API over read models that follow a log which a test writes, and holds back. */
export type MovingWorld = Readonly<{
  rest: RestServer;
  database: Database;
  /** Appends facts, each to its stream. */
  append: (...facts: Fact[]) => void;
  /** The token of the log's end, of some streams. */
  token: (...streams: StreamName[]) => string;
  /** Projectors receive no further fact, until the returned function is called. */
  hold: () => () => void;
  /** The same API anew: nothing of it is cached. */
  fresh: () => Promise<RestServer>;
  /** Reads of the database that have ended. */
  reads: () => number;
  close: () => Promise<void>;
}>;

const followed: readonly ProjectionName[] = [
  'actions',
  'supernodes',
  'validators',
  'availability',
  'rounds',
  'uptime_days',
  'uptime_open',
  'incidents',
];

/** Starts the API with a projector, over the facts of a log in memory; ends with the test. */
export async function startMovingWorld(facts: readonly Fact[] = []): Promise<MovingWorld> {
  const database = await openDatabase();
  const logs = new Map<StreamName, MemoryLog>();
  const logOf = (stream: StreamName): MemoryLog => {
    const log = logs.get(stream) ?? new MemoryLog();
    logs.set(stream, log);
    return log;
  };
  let gate = Promise.resolve();
  const source: FactSource = {
    head: async (stream) => await logOf(stream).head(),
    follow: async function* (stream, after, options) {
      for await (const batch of logOf(stream).follow(stream, after, options)) {
        await gate;
        if (options.signal.aborted) return;
        yield batch;
      }
    },
  };
  const append = (...more: Fact[]): void => more.forEach((fact) => void logOf(streamOf(fact.type)).append(fact));
  append(...facts);
  startProjector(database, source, { projections: projections.filter(({ name }) => followed.includes(name)) });
  const wakeups = createWakeups(database, silent);
  const reader = createReader(database);
  let reads = 0;
  const others = {
    past: { ...pastOf([]), head: async (stream: StreamName) => await logOf(stream).head() },
    onMoved: wakeups.onMoved,
  };
  const counting: typeof reader.read = async (use) => await reader.read(use).finally(() => (reads += 1));
  const rest = await startRest([], { reader: { ...reader, read: counting }, ...others });
  await eventually(async () => {
    const built = (await reader.generations()).filter(({ status }) => status === 'live');
    const positions = followed.map((name) => built.find(({ projection }) => projection === name)?.position ?? -1);
    if (Math.min(...positions) < 0) throw new Error('The read models are not built yet');
  });
  return {
    rest,
    database,
    append,
    token: (...streams) =>
      positionToken(
        streams.map((stream) => {
          const { incarnation, facts: all } = logOf(stream);
          return { stream, incarnation, sequence: all.length };
        }),
      ),
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return resolve;
    },
    fresh: async () => await startRest([], { reader: createReader(database), ...others }),
    reads: () => reads,
    close: async () => {
      await rest.close();
      await wakeups.close();
    },
  };
}
