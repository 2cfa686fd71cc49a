import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { AppError } from '../../../../src/kit/errors.ts';
import type { GenerationState } from '../../../../src/engine/models/observed.ts';
import type { Fact } from '../../../../src/events/catalogue.ts';
import type { Reading } from '../../../../src/projections/reading.ts';
import { timeOf } from '../../../support/histories/facts.ts';
import { withoutNetwork } from '../../../support/figures.ts';
import { loadReading } from '../../../support/histories/load-projection.ts';
import { asRecords, now, type RestServer, startRest } from './rest-server.ts';
import { round, sample } from './sample.ts';

const down = async (): Promise<never> => {
  throw new AppError('UNAVAILABLE', 'no answer from 10.0.0.1', { cause: new Error('ECONNREFUSED 10.0.0.1') });
};
const generation = (stoppedReason: string | null, status: GenerationState['status'] = 'live'): GenerationState => ({
  projection: 'actions',
  generation: 2,
  status,
  stream: 'ACTIONS',
  position: 33,
  stoppedReason,
  pausedAt: null,
});
const recent = new Date(now - 1000).toISOString();
const completed: readonly Fact[] = ['actions', 'supernodes', 'validators'].map((source) => round(source, 9, recent));
const failed = (reason: string): Fact => ({
  type: 'SyncRoundFailed',
  data: {
    source: 'supernodes',
    startedAt: recent,
    at: recent,
    reason,
    message: 'it said no',
    known: { chainId: 'chain-1', cursor: 9, unread: [], completedHeight: 9, completedAt: timeOf(9) },
  },
});

let rest: RestServer | undefined;
afterEach(async () => {
  await rest?.close();
  rest = undefined;
});

const readyz = async (...args: Parameters<typeof startRest>) => {
  rest = await startRest(...args);
  return await rest.get('/readyz');
};

describe('GET /healthz', () => {
  it(
    'answers 200 while the process runs, whatever is down',
    { tags: ['S2.ops.healthz', 'S2.open.ops.healthz'] },
    async () => {
      rest = await startRest([], { reader: { read: down, generations: down }, broker: down, heads: down });
      const { status, body } = await rest.get('/healthz');
      expect([status, body]).toEqual([200, { status: 'ok' }]);
    },
  );
});

describe('GET /readyz', () => {
  it(
    'is ready once every source has a completed round',
    { tags: ['S2.ops.readyz', 'S2.open.ops.readyz'] },
    async () => {
      const { status, body } = await readyz(completed);
      expect([status, body]).toEqual([200, { ready: true, warnings: [], durability: 'strict' }]);
    },
  );

  it('is not ready while a source has none', { tags: ['S2.ops.readyz', 'S2.open.ops.readyz'] }, async () => {
    const { status, body, headers } = await readyz(completed.slice(1));
    expect([status, body.ready, headers.has('retry-after')]).toEqual([503, false, true]);
    expect(body.reasons).toEqual([{ component: 'sync actions', message: 'No round has completed yet.' }]);
  });

  it(
    'is not ready while the database or the broker is down, and names no address',
    { tags: ['S2.open.ops.readyz', 'LS-22'] },
    async () => {
      const { status, body, text } = await readyz([], { reader: { read: down, generations: down }, broker: down });
      expect(status).toBe(503);
      expect(asRecords(body.reasons).map(({ component }) => component)).toEqual(['broker', 'database']);
      expect(text).not.toContain('10.0.0.1');
    },
  );

  it(
    'is not ready while a projection is being built for the first time',
    { tags: ['S2.open.ops.readyz'] },
    async () => {
      const reader = {
        read: async (): Promise<never> => {
          throw new AppError('UNAVAILABLE', 'Projection actions is being built');
        },
        generations: async () => [generation(null, 'building')],
      };
      const { status, body } = await readyz([], { reader });
      expect(status).toBe(503);
      expect(body.reasons).toEqual([{ component: 'projections', message: 'Projection actions is being built' }]);
    },
  );

  it(
    'is not ready while only a projection that no round is read from is being built',
    { tags: ['S2.open.ops.readyz'] },
    async () => {
      const { reading, close } = await loadReading(completed);
      const schemas = {
        ...reading.schemas,
        get availability(): string {
          throw new AppError('UNAVAILABLE', 'Projection availability is being built');
        },
      };
      const reader = {
        read: <T>(use: (of: Reading) => Promise<T>) => use({ ...reading, schemas }),
        generations: async () => [],
      };
      const { status, body } = await readyz([], { reader });
      await close();
      expect(status).toBe(503);
      expect(body.reasons).toEqual([{ component: 'projections', message: 'Projection availability is being built' }]);
    },
  );

  it('warns of a rebuild that has stopped beside what readers see', { tags: ['S2.open.ops.readyz'] }, async () => {
    const generations = async () => [
      generation(null),
      { ...generation('cannot read fact 34', 'building'), generation: 3 },
    ];
    const { reading, close } = await loadReading(completed);
    const { status, body } = await readyz([], { reader: { read: async (use) => await use(reading), generations } });
    await close();
    expect(status).toBe(200);
    expect(asRecords(body.warnings)).toEqual([
      { component: 'projection actions', message: 'Generation 3 stopped after position 33: cannot read fact 34' },
    ]);
  });

  it('does not wait for a database that never answers', { tags: ['S2.open.ops.readyz'], timeout: 20_000 }, async () => {
    const never = async (): Promise<never> => await new Promise(() => undefined);
    const { status, body } = await readyz([], { reader: { read: never, generations: never } });
    expect([status, asRecords(body.reasons)[0]?.component]).toEqual([503, 'database']);
  });

  it(
    'is not ready while a projection has stopped, and says where and why',
    { tags: ['S2.open.ops.readyz'] },
    async () => {
      const reader = { read: down, generations: async () => [generation('cannot read fact 34')] };
      const { body } = await readyz(completed, { reader });
      expect(asRecords(body.reasons)).toContainEqual({
        component: 'projection actions',
        message: 'Generation 2 stopped after position 33: cannot read fact 34',
      });
    },
  );

  it(
    'stays ready with the chain out of reach, and warns how old its knowledge is',
    { tags: ['S2.open.ops.readyz'] },
    async () => {
      const { status, body } = await readyz([...completed, failed('unreachable')]);
      expect(status).toBe(200);
      expect(asRecords(body.warnings)[0]).toEqual({
        component: 'sync supernodes',
        message: expect.stringMatching(/unreachable.*it said no.*old/),
      });
    },
  );

  it(
    'warns of another chain, and of one that has gone back, that it is not followed',
    { tags: ['S2.open.ops.readyz'] },
    async () => {
      for (const reason of ['wrong_chain', 'chain_behind']) {
        const { status, body } = await readyz([...completed, failed(reason)]);
        expect(status).toBe(200);
        expect(asRecords(body.warnings)[0]?.message).toContain('is not followed until');
        await rest?.close();
      }
      rest = undefined;
    },
  );

  it('warns of late rounds, of a lag, of what the broker lacks', { tags: ['S2.open.ops.readyz'] }, async () => {
    const old = await readyz(sample);
    expect(asRecords(old.body.warnings)).toEqual([
      { component: 'sync actions', message: expect.stringContaining('4m old') },
    ]);
    await rest?.close();
    const { status, body } = await readyz(completed, {
      heads: async () => ({ ACTIONS: { lastSequence: 1000, lastTime: new Date(now - 60_000).toISOString() } }),
      broker: async () => ({ durability: 'relaxed', warnings: ['Its durability cannot be read.'] }),
    });
    expect([status, body.durability]).toEqual([200, 'relaxed']);
    expect(asRecords(body.warnings)).toEqual([
      { component: 'broker', message: 'Its durability cannot be read.' },
      { component: 'projection actions', message: 'It is 1m behind the log.' },
    ]);
  });

  it('is ready with a read model that an operator paused, and says how far behind it is', async () => {
    const { reading, close } = await loadReading(completed);
    onTestFinished(close);
    const pausedAt = '2026-11-21T10:00:00.000Z';
    const paused = { ...generation(null), position: 0, pausedAt };
    const { status, body } = await readyz(completed, {
      reader: { read: async (use) => await use(reading), generations: async () => [paused] },
      heads: async () => ({ ACTIONS: { lastSequence: 1000, lastTime: new Date(now - 60_000).toISOString() } }),
    });
    expect(status).toBe(200);
    const message = `An operator paused it at ${pausedAt}: readers see position 0, 1m behind the log.`;
    expect(asRecords(body.warnings)).toContainEqual({ component: 'projection actions', message });
    const text = withoutNetwork((await rest?.get('/metrics'))?.text ?? '');
    expect(text).toContain('annals_projection_paused{projection="actions",stream="ACTIONS"} 1');
  });
});

describe('GET /readyz and GET /metrics of the archive', () => {
  const standing = {
    stream: 'ACTIONS',
    position: 40,
    scrubbedAt: null,
    uncomparedSince: null,
    repairedAt: null,
    repaired: [],
  } as const;
  const loss = { stream: 'ACTIONS', first: 7, last: 8, reason: 'gone in both', ids: ['abc'] } as const;
  const archive = async () => ({ standings: [{ ...standing, findings: ['Event 9 is missing.'] }], losses: [loss] });

  it('warns of damage, and says exactly what is lost', async () => {
    const { status, body } = await readyz(completed, { archive });
    expect(status).toBe(200);
    expect(asRecords(body.warnings)).toEqual([
      { component: 'archive ACTIONS', message: 'Event 9 is missing.' },
      { component: 'archive ACTIONS', message: 'Events 7 to 8 are lost: gone in both (abc).' },
    ]);
  });

  it('counts the age of a stream that was never compared from its first event', async () => {
    const uncomparedSince = new Date(now - 90_000).toISOString();
    const late = async () => ({ standings: [{ ...standing, uncomparedSince, findings: [] }], losses: [] });
    rest = await startRest(completed, { archive: late });
    const text = withoutNetwork((await rest.get('/metrics')).text);
    expect(Number(/^annals_archive_scrub_age_seconds\{stream="ACTIONS"\} ([\d.]+)/m.exec(text)?.[1])).toBe(90);
  });

  it('shows position, damage, loss and the time of a comparison of each stream', async () => {
    rest = await startRest(completed, { archive });
    const text = withoutNetwork((await rest.get('/metrics')).text);
    expect(text).toContain('annals_archive_position{stream="ACTIONS"} 40');
    expect(text).toContain('annals_archive_damaged{stream="ACTIONS"} 1');
    expect(text).toContain('annals_archive_lost_events{stream="ACTIONS"} 2');
    expect(text).toContain('annals_archive_scrub_planned_seconds{stream="ACTIONS"} 24');
    expect(text).not.toContain('annals_archive_scrub_age_seconds{');
  });
});

describe('GET /metrics', () => {
  it(
    'shows real figures of requests, projections, streams, sync and probes',
    { tags: ['S2.ops.metrics', 'S2.open.ops.metrics'] },
    async () => {
      rest = await startRest(sample, { heads: async () => ({ ACTIONS: { lastSequence: 40, lastTime: timeOf(93) } }) });
      await rest.get('/v1/actions/1');
      const { headers, text: figures } = await rest.get('/metrics');
      const text = withoutNetwork(figures);
      expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
      const lines = [
        'annals_http_requests_total{route="/v1/actions/:id",method="GET",status="200"} 1',
        'annals_http_request_duration_seconds_count{route="/v1/actions/:id",method="GET"} 1',
        'annals_projection_position{projection="actions",stream="ACTIONS"} 33',
        'annals_projection_lag_seconds{projection="actions",stream="ACTIONS"} 60',
        'annals_projection_generation{projection="actions",stream="ACTIONS"} 1',
        'annals_projection_stopped{projection="rounds",stream="SYNC"} 0',
        'annals_stream_last_sequence{stream="ACTIONS"} 40',
        'annals_sync_age_seconds{source="actions"} 240',
        'annals_sync_failing{source="actions"} 0',
        'annals_supernodes{status="available"} 2',
        'annals_supernodes{status="unavailable"} 2',
        'annals_database_up 1',
        'annals_broker_up 1',
      ];
      for (const line of lines) expect(text.split('\n')).toContain(line);
      expect(text).toContain('nodejs_eventloop_lag_seconds');
      expect(text).toContain('process_resident_memory_bytes');
    },
  );

  it('goes on without the database, and says that it is away', { tags: ['S2.open.ops.metrics', 'LS-22'] }, async () => {
    rest = await startRest([], { reader: { read: down, generations: down }, broker: down });
    const { status, text: figures } = await rest.get('/metrics');
    const text = withoutNetwork(figures);
    expect(status).toBe(200);
    expect(text).toContain('annals_database_up 0');
    expect(text).toContain('annals_broker_up 0');
    expect(text).not.toContain('annals_supernodes{');
  });
});
