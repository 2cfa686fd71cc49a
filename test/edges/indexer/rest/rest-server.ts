import { AppError } from '../../../../src/kit/errors.ts';
import { pino } from 'pino';
import { observeArchive, type ScrubSettings } from '../../../../src/engine/archive/observed.ts';
import type { ArchiveState } from '../../../../src/engine/archive/observed.ts';
import { observedOf } from '../../../../src/kit/observed.ts';
import { observeSync, type SyncIntervals } from '../../../../src/edges/indexer/observed.ts';
import { type StreamEnds, type LogState, observeLog, trackLag } from '../../../../src/engine/log/lag.ts';
import { observeModels, type ObservedModels } from '../../../../src/engine/models/observed.ts';
import { encode } from '../../../../src/engine/log/envelope.ts';
import type { RestDependencies } from '../../../../src/edges/indexer/rest/dependencies.ts';
import { createRest } from '../../../../src/edges/indexer/rest/rest.ts';
import { catalogue, entityOf, type Fact } from '../../../../src/events/catalogue.ts';
import { projectionNames } from '../../../../src/projections/projection.ts';
import { loadReading } from '../../../support/histories/load-projection.ts';
import { timeOf } from '../../../support/histories/facts.ts';

/** An answer; the body is empty where it is no JSON object. */
export type Answer = Readonly<{
  status: number;
  headers: Headers;
  body: Readonly<Record<string, unknown>>;
  text: string;
}>;

/** A running API over facts. */
export type RestServer = Readonly<{
  url: string;
  get: (path: string, init?: RequestInit) => Promise<Answer>;
  close: () => Promise<void>;
}>;

/** The settings of an instance of which nothing was set. */
export const defaultSettings: RestDependencies['settings'] & SyncIntervals & ScrubSettings = {
  network: 'test',
  natsPort: 4222,
  natsWsPort: 4223,
  trustedProxies: [],
  corsAllowOrigins: '*',
  allowManualSync: false,
  syncToken: undefined,
  actionsSyncIntervalMs: 30_000,
  supernodesSyncIntervalMs: 120_000,
  validatorsSyncIntervalMs: 300_000,
  scrubIntervalMs: 20_000,
  scrubPerSecond: 10,
  profile: { addressPrefix: 'lumera' },
};

/** No log has anything yet. */
const noLogs: RestDependencies['logs'] = {
  list: async () => [],
  checkpoint: async () => undefined,
  tile: async () => undefined,
  event: async () => undefined,
  proof: async () => undefined,
};

/** The events of facts, as a log would have them that stored each a second after the one before. */
export function eventsOf(facts: readonly Fact[]): RestDependencies['events'] {
  const events = facts.map((fact, at) => {
    const { id, subject, bytes } = encode(fact, { network: 'test', cause: { at: timeOf(at) } });
    const storedNanos = `${now - (facts.length - at) * 1000}000000`;
    return {
      kind: catalogue[fact.type].kind,
      entity: entityOf(fact),
      sequence: at + 1,
      id,
      subject,
      body: bytes,
      storedNanos,
    };
  });
  return {
    logged: async (kind, entity, { after, limit }) =>
      events.filter((one) => one.kind === kind && one.entity === entity && one.sequence > after).slice(0, limit),
    archived: async (_stream, sequences) => events.filter(({ sequence }) => sequences.includes(sequence)),
  };
}

/** A log whose facts were stored a second apart, the last one a second ago; nothing of it was dropped. */
export function pastOf(facts: readonly Fact[]): RestDependencies['past'] {
  const storedMs = (sequence: number) => now - (facts.length + 1 - sequence) * 1000;
  const nanosOf = (sequence: number) => BigInt(storedMs(sequence)) * 1_000_000n;
  const recorded = facts.map((fact, at) => ({ fact, id: '', sequence: at + 1, time: '' }));
  return {
    head: async () => ({ incarnation: '2026-01-01T00:00:00Z', firstSequence: 1, lastSequence: facts.length }),
    positionAt: async (_stream, nanos) => recorded.filter(({ sequence }) => nanosOf(sequence) <= nanos).length,
    positionWhen: async (_stream, { sequence }) => Math.min(sequence, facts.length),
    storedAt: async (_stream, sequence) => (sequence === 0 ? undefined : nanosOf(sequence)),
    lastAsOf: async (kind, entities, upTo) =>
      new Map(
        recorded
          .filter(({ fact, sequence }) => catalogue[fact.type].kind === kind && sequence <= upTo)
          .map((one) => [entityOf(one.fact), one] as const)
          .filter(([entity]) => entities.includes(entity)),
      ),
    confirmedLast: async (kind, entity) =>
      recorded.findLast(({ fact }) => catalogue[fact.type].kind === kind && entityOf(fact) === entity),
    hasForgotten: async () => false,
  };
}

/** The time of all answers, unless a test says otherwise: two minutes after the last round of the sample. */
export const now = Date.parse(timeOf(94));

type Stores = Readonly<{
  reader: ObservedModels;
  heads: () => Promise<StreamEnds>;
  broker: () => Promise<LogState>;
  archive: () => Promise<ArchiveState>;
}>;

type Changes = Omit<Partial<RestDependencies>, 'settings' | 'reader'> &
  Partial<Stores> & { settings?: Partial<typeof defaultSettings> };

/**
 * Starts the API on a free port, on real tables that were folded from the facts; `changes` replaces what comes from
 * outside.
 */
export async function startRest(facts: readonly Fact[], { settings, ...changes }: Changes = {}): Promise<RestServer> {
  const { reading, close } = await loadReading(facts);
  const ending = new AbortController();
  const generations = projectionNames.map((projection) => ({
    projection,
    generation: 1,
    status: 'live' as const,
    stream: reading.followed[projection].stream,
    position: reading.followed[projection].sequence,
    stoppedReason: null,
    pausedAt: null,
  }));
  const {
    reader = { read: async (use) => await use(reading), generations: async () => generations },
    heads = async () => ({}),
    broker = async () => ({ durability: 'strict', warnings: [] }),
    archive = async () => ({ standings: [], losses: [] }),
    ...others
  } = changes;
  const logger = pino({ level: 'silent' });
  const clock = () => now;
  const lag = trackLag(heads, { signal: ending.signal, clock, logger });
  const options = { ...defaultSettings, ...settings, clock };
  const observed = observedOf([
    observeLog(broker, lag),
    observeArchive(archive, options),
    observeModels(reader, lag),
    observeSync(reader.read, options),
  ]);
  const app = createRest({
    reader,
    lag,
    past: pastOf(facts),
    events: eventsOf(facts),
    links: { ofTransaction: async () => [], causedBy: async () => [], cause: async () => undefined },
    logs: noLogs,
    eventSource: { after: async () => [], watch: () => () => undefined },
    observed: () => observed,
    requestSync: async () => {
      throw new AppError('UNAVAILABLE', 'Nobody syncs here.');
    },
    subscribe: () => () => undefined,
    onMoved: () => () => undefined,
    settings: options,
    webhookKey: async () => 'whpk_',
    cursorKey: 'a key of at least sixteen characters',
    logger,
    clock,
    signal: ending.signal,
    version: '0.0.0',
    ...others,
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return {
    url,
    get: async (path, init) => await ask(url + path, init),
    close: async () => {
      ending.abort();
      await app.close();
      await close();
    },
  };
}

async function ask(url: string, init?: RequestInit): Promise<Answer> {
  const response = await fetch(url, init);
  const text = await response.text();
  const isJson = text !== '' && (response.headers.get('content-type') ?? '').split(';')[0] === 'application/json';
  return { status: response.status, headers: response.headers, text, body: isJson ? asRecord(JSON.parse(text)) : {} };
}

/** What an API over facts of its own answers to one request. */
export async function askOnce(path: string, ...started: Parameters<typeof startRest>): Promise<Answer> {
  const server = await startRest(...started);
  try {
    return await server.get(path);
  } finally {
    await server.close();
  }
}

/** A value as an object, to look into. */
export function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error(`No object: ${JSON.stringify(value)}`);
  return value as Readonly<Record<string, unknown>>;
}

/** A value as a list of objects, to look into. */
export function asRecords(value: unknown): Readonly<Record<string, unknown>>[] {
  if (!Array.isArray(value)) throw new Error(`No list: ${JSON.stringify(value)}`);
  return value.map(asRecord);
}

/** The ids of a list of records, in its order. */
export function idsOf(list: unknown): unknown[] {
  return asRecords(list).map(({ id }) => id);
}

/** Follows the cursors of a list from its first page to its last. */
export async function walk(
  rest: RestServer,
  path: string,
  between: (page: Answer) => Promise<void> = async () => undefined,
): Promise<Answer[]> {
  const pages: Answer[] = [];
  let cursor: string | undefined;
  do {
    const page = await rest.get(cursor === undefined ? path : `${path}&cursor=${cursor}`);
    if (page.status !== 200) throw new Error(`${path} answered ${page.status}: ${page.text}`);
    pages.push(page);
    cursor = typeof page.body.cursor === 'string' ? page.body.cursor : undefined;
    await between(page);
  } while (cursor !== undefined);
  return pages;
}
