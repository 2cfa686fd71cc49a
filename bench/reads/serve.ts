import type pg from 'pg';
import { pino } from 'pino';
import type { EventPages } from '../../src/engine/archive/event-pages.ts';
import { createInstants } from '../../src/engine/archive/instants.ts';
import { createProvenLogs } from '../../src/engine/archive/proof/serving.ts';
import { createPools } from '../../src/engine/models/pool.ts';
import { createReader } from '../../src/engine/models/read/reading.ts';
import type { ProjectionName } from '../../src/projections/projection.ts';
import type { PastLog } from '../../src/edges/indexer/rest/as-of.ts';
import { registerPages } from '../../src/edges/indexer/pages/pages.ts';
import { createRest } from '../../src/edges/indexer/rest/rest.ts';
import { pageSources } from '../../test/edges/indexer/pages/page-sources.ts';
import { defaultSettings } from '../../test/edges/indexer/rest/rest-server.ts';

// The API over tables that are there already, as a process of its own; says where it listens and ends with its parent's
// channel.
const [, , config = '{}', network = ''] = process.argv;
const withTables: readonly ProjectionName[] = ['actions', 'supernodes', 'availability', 'rounds'];
const pools = createPools(JSON.parse(config) as pg.ClientConfig, { applicationName: 'reads' });
const ending = new AbortController();
const reader = createReader({ pools, network });
const head: PastLog['head'] = async (stream) => {
  const followed = await reader.read(async (reading) => withTables.map((name) => reading.followed[name]));
  const { incarnation, sequence } = followed.find((one) => one.stream === stream) ?? { incarnation: '', sequence: 0 };
  return { incarnation, firstSequence: 1, lastSequence: sequence };
};
const instants = createInstants({ pools, network, head });
/** There is no log here but for the first event, of which the slider reads when it was written. */
const firstEvent: EventPages = async (stream, after) => {
  const time = stream === 'ACTIONS' && after === 0 ? await instants.storedAt(stream, 1) : undefined;
  if (time === undefined) return [];
  const event = { time: new Date(Number(time / 1_000_000n)).toISOString() };
  return [{ sequence: 1, subject: `evt.action.${network}.1`, bytes: Buffer.from(JSON.stringify(event)) }];
};
const app = createRest({
  reader,
  past: {
    head,
    ...instants,
    lastAsOf: async () => new Map(),
    confirmedLast: async () => undefined,
    hasForgotten: async () => false,
  },
  lag: { lagMs: () => 0, heads: () => ({}), ready: Promise.resolve() },
  events: { logged: async () => [], archived: async () => [] },
  links: { ofTransaction: async () => [], causedBy: async () => [], cause: async () => undefined },
  logs: createProvenLogs({ pools, network }),
  eventSource: { after: firstEvent, watch: () => () => undefined },
  observed: () => ({ checks: [], gauges: [] }),
  requestSync: async () => await Promise.reject(new Error('Nobody syncs here')),
  subscribe: () => () => undefined,
  onMoved: () => () => undefined,
  settings: defaultSettings,
  webhookKey: async () => 'whpk_',
  cursorKey: 'a key of at least sixteen characters',
  logger: pino({ level: 'warn' }, pino.destination(2)),
  clock: () => Date.now(),
  signal: ending.signal,
  version: '0.0.0',
  registerPages: (pages) => registerPages(pages, pageSources),
});
process.on('disconnect', () => process.exit());
const url = await app.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(`${url}\n`);
process.send?.(url);
