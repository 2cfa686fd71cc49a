import { base64urlnopad } from '@scure/base';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLogger } from '../../../../src/kit/logger.ts';
import { positionToken } from '../../../../src/edges/indexer/rest/headers.ts';
import { type StreamEnds, trackLag } from '../../../../src/engine/log/lag.ts';
import { timeOf } from '../../../support/histories/facts.ts';
import { askOnce, now, type RestServer, startRest } from './rest-server.ts';
import { alpha, betaAccount, sample } from './sample.ts';

const incarnation = '2026-01-01T00:00:00Z';
const opened = (token: string | null): unknown =>
  JSON.parse(Buffer.from(base64urlnopad.decode(token ?? '')).toString());

let rest: RestServer;
beforeAll(
  async () =>
    void (rest = await startRest(sample, {
      heads: async () => ({
        ACTIONS: { lastSequence: 50, lastTime: timeOf(93) },
        NODES: { lastSequence: 33, lastTime: timeOf(93) },
      }),
    })),
);
afterAll(async () => await rest.close());

/** Every read, the streams it reads, and the age of its oldest source in minutes. */
const reads: readonly (readonly [string, readonly string[], number])[] = [
  ['/v1/actions', ['ACTIONS'], 4],
  [`/v1/actions?supernode=${alpha}`, ['ACTIONS', 'NODES'], 4],
  [`/v1/actions?supernode=${betaAccount}`, ['ACTIONS'], 4],
  ['/v1/actions/1', ['ACTIONS', 'NODES'], 4],
  ['/v1/actions/999', ['ACTIONS', 'NODES'], 4],
  ['/v1/actions/stats', ['ACTIONS'], 4],
  ['/v1/supernodes/metrics', ['NODES', 'PROBES', 'SYNC'], 3],
  [`/v1/supernodes/${alpha}/metrics`, ['NODES', 'PROBES', 'SYNC'], 3],
  [`/v1/supernodes/${alpha}/paymentInfo`, ['ACTIONS', 'NODES'], 4],
  ['/v1/supernodes/stats', ['NODES', 'PROBES'], 3],
  ['/v1/supernodes/action-stats', ['ACTIONS', 'NODES'], 4],
  ['/v1/supernodes/unavailable', ['NODES', 'PROBES'], 3],
  ['/v1/supernodes/availability', ['NODES', 'PROBES', 'UPTIME'], 3],
  [`/v1/supernodes/${alpha}/availability`, ['NODES', 'PROBES', 'UPTIME'], 3],
  [`/v1/supernodes/${alpha}/incidents`, ['NODES', 'PROBES', 'UPTIME'], 3],
  ['/v1/incidents', ['NODES', 'PROBES', 'UPTIME'], 3],
  ['/v1/version/matrix', ['NODES', 'PROBES', 'SYNC'], 3],
];

describe.each(reads)('GET %s', (path, streams, ageMinutes) => {
  it(
    'carries position, lag and age',
    { tags: ['S2.open.headers.position', 'S2.open.headers.lag', 'S2.open.headers.chain-age'] },
    async () => {
      const { headers } = await rest.get(path);
      expect(opened(headers.get('annals-position'))).toEqual(
        Object.fromEntries(streams.map((stream) => [stream, [incarnation, 33]])),
      );
      expect(headers.get('annals-lag-ms')).toBe(streams.includes('ACTIONS') ? '60000' : '0');
      expect(headers.get('annals-chain-age-ms')).toBe(String(ageMinutes * 60_000));
    },
  );
});

describe('positionToken', () => {
  it(
    'takes the least of several on one stream, is URL-safe, and the same whatever the order',
    { tags: ['S2.open.headers.position'] },
    () => {
      const followed = [
        { stream: 'NODES', incarnation, sequence: 7 },
        { stream: 'ACTIONS', incarnation, sequence: 9 },
        { stream: 'NODES', incarnation, sequence: 3 },
      ] as const;
      const token = positionToken(followed);
      expect(token).toMatch(/^[\w-]+$/);
      expect(opened(token)).toEqual({ ACTIONS: [incarnation, 9], NODES: [incarnation, 3] });
      expect(positionToken(followed.toReversed())).toBe(token);
    },
  );

  it('is accompanied by no age before the first completed round', { tags: ['S2.open.headers.chain-age'] }, async () => {
    const { headers } = await askOnce('/v1/actions', []);
    expect([headers.has('annals-position'), headers.get('annals-lag-ms'), headers.has('annals-chain-age-ms')]).toEqual([
      true,
      '0',
      false,
    ]);
  });
});

describe('trackLag', () => {
  const logger = createLogger({ level: 'error', format: 'json' });
  const track = async (heads: () => Promise<StreamEnds>, clock: () => number) => {
    const ending = new AbortController();
    const lag = trackLag(heads, { signal: ending.signal, clock, logger });
    await lag.ready;
    ending.abort();
    return lag;
  };

  it('is 0 at the head, and grows with time behind it', { tags: ['S2.open.headers.lag'] }, async () => {
    let time = now;
    const lag = await track(
      async () => ({ ACTIONS: { lastSequence: 9 } }),
      () => time,
    );
    expect([lag.lagMs('ACTIONS', 9), lag.lagMs('ACTIONS', 10), lag.lagMs('NODES', 0)]).toEqual([0, 0, 0]);
    time += 1500;
    expect([lag.lagMs('ACTIONS', 9), lag.lagMs('ACTIONS', 8)]).toEqual([0, 1500]);
  });

  it('counts from when the head was written, not from the first look', { tags: ['S2.open.headers.lag'] }, async () => {
    const lag = await track(
      async () => ({ ACTIONS: { lastSequence: 9, lastTime: new Date(now - 5000).toISOString() } }),
      () => now,
    );
    expect(lag.lagMs('ACTIONS', 0)).toBe(5000);
  });

  it('is 0 where the broker does not answer from the start', async () => {
    const lag = await track(
      async () => await Promise.reject(new Error('away')),
      () => now,
    );
    expect([lag.lagMs('ACTIONS', 0), lag.heads()]).toEqual([0, {}]);
  });
});
