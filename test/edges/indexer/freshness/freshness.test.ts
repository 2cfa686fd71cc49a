import { PassThrough } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { positionToken } from '../../../../src/edges/indexer/rest/headers.ts';
import { freshnessOf } from '../../../../src/edges/indexer/freshness/freshness.ts';
import { createWaiting, type OnMoved } from '../../../../src/edges/indexer/freshness/waiting.ts';
import { actionFacts, nodeFacts, timeOf } from '../../../support/histories/facts.ts';
import { eventually } from '../../../support/polling.ts';
import { seeded } from '../../../support/histories/random-history.ts';
import { startMovingWorld } from './moving-world.ts';
import { alpha, round } from '../rest/sample.ts';

const prefer = (seconds: number) => ({ prefer: `respond-async, wait=${seconds}` });

describe('Annals-Position as a request header', () => {
  it('waits until the read models are there, without a snapshot or a connection', async () => {
    const { rest, database, append, token, hold, reads, close } = await startMovingWorld();
    onTestFinished(close);
    const release = hold();
    append(actionFacts('1').registered(), nodeFacts(alpha).listed());
    const before = reads();
    const asked = rest.get('/v1/actions', { headers: { 'annals-position': token('ACTIONS'), ...prefer(10) } });
    await eventually(() => expect(reads()).toBeGreaterThan(before));
    const { read } = database.pools;
    await eventually(() => expect([read.idleCount, read.waitingCount]).toEqual([read.totalCount, 0]));
    release();
    const { status, headers, body } = await asked;
    expect([status, body.total, headers.get('annals-position')]).toEqual([200, 1, token('ACTIONS')]);
    expect(headers.get('preference-applied')).toBe('wait=10');
  });

  it('is 503 with how far it is when the time is over, and 412 at once for what never comes', async () => {
    const { rest, append, token, hold, close } = await startMovingWorld([actionFacts('1').registered()]);
    onTestFinished(close);
    const ask = async (position: string, path = '/v1/actions') =>
      await rest.get(path, { headers: { 'annals-position': position, ...prefer(0) } });
    const first = token('ACTIONS');
    await eventually(async () => expect((await ask(first)).status).toBe(200));
    const release = hold();
    append(actionFacts('2').registered(), nodeFacts(alpha).listed());
    const late = await ask(token('ACTIONS', 'NODES'));
    expect(late).toMatchObject({ status: 503, body: { code: 'BEHIND' } });
    expect(Number(late.headers.get('retry-after'))).toBeGreaterThan(0);
    expect([late.headers.get('annals-position'), late.headers.get('etag')]).toEqual([first, null]);
    const incarnation = '2020-01-01T00:00:00Z';
    const other = positionToken([{ stream: 'ACTIONS', incarnation, sequence: 1 }]);
    expect(await ask(other)).toMatchObject({ status: 412, body: { code: 'OTHER_LOG' } });
    const beyond = positionToken([{ stream: 'ACTIONS', incarnation: '2026-01-01T00:00:00Z', sequence: 3 }]);
    expect(await ask(beyond)).toMatchObject({ status: 412, body: { code: 'BEYOND_LOG' } });
    expect(await ask('ACTIONS:1')).toMatchObject({ status: 400, body: { code: 'INVALID_ARGUMENT' } });
    // What a route does not read is not its business.
    const elsewhere = positionToken([{ stream: 'LEDGER', incarnation, sequence: 9 }]);
    expect((await ask(elsewhere)).status).toBe(200);
    release();
  });

  it('is never answered from before it, whatever moves meanwhile', async () => {
    const { rest, append, token, hold, close } = await startMovingWorld();
    onTestFinished(close);
    const random = seeded(30);
    const sound = await Promise.all(
      Array.from({ length: 60 }, async (_, at) => {
        const release = random.chance(0.5) ? hold() : undefined;
        append(actionFacts(String(at + 1)).registered());
        const headers = { 'annals-position': token('ACTIONS'), ...prefer(10) };
        const path = random.chance(0.5) ? '/v1/actions' : `/v1/actions?limit=${1 + random.below(9)}`;
        const asked = rest.get(path, { headers });
        release?.();
        const { status, body } = await asked;
        return status === 200 && Number(body.total) > at;
      }),
    );
    expect(sound).toEqual(sound.map(() => true));
  });
});

describe('min_height', () => {
  it('waits for the round that read the height, and for what it wrote', async () => {
    const { rest, append, hold, close } = await startMovingWorld();
    onTestFinished(close);
    append(round('actions', 9, timeOf(9)));
    const soon = await rest.get('/v1/actions?min_height=10', { headers: prefer(0) });
    expect(soon).toMatchObject({ status: 503, body: { code: 'BEHIND' } });
    const asked = rest.get('/v1/actions?min_height=10', { headers: prefer(10) });
    const release = hold();
    append(actionFacts('1').registered(), round('actions', 10, timeOf(10)));
    release();
    expect(await asked).toMatchObject({ status: 200, body: { total: 1 } });
    expect((await rest.get('/v1/actions?min_height=x')).status).toBe(400);
    // The SuperNodes of a detail come from another source, which has not been read.
    const detail = await rest.get('/v1/actions/1?min_height=10', { headers: prefer(0) });
    expect(detail).toMatchObject({ status: 503, body: { code: 'BEHIND' } });
  });

  it('is no part of what a cursor is bound to', async () => {
    const facts = ['1', '2', '3'].map((id) => actionFacts(id).registered());
    const { rest, close } = await startMovingWorld([...facts, round('actions', 9, timeOf(9))]);
    onTestFinished(close);
    const { body } = await rest.get('/v1/actions?limit=2&min_height=9', { headers: prefer(10) });
    const next = await rest.get(`/v1/actions?limit=2&cursor=${String(body.cursor)}`);
    expect(next).toMatchObject({ status: 200, body: { total: 3, page: 2 } });
  });
});

describe('freshnessOf', () => {
  it('reads the preference wait as RFC 7240 writes it, at most ten seconds', () => {
    const cases: readonly (readonly [string, number | undefined])[] = [
      ['wait=5', 5],
      ['WAIT = "5"', 5],
      ['respond-async, wait=100', 10],
      ['wait=3; x=y, return=minimal', 3],
      ['wait', undefined],
      ['wait=-1', undefined],
      ['wait=x', undefined],
      ['await=5', undefined],
      ['', undefined],
    ];
    for (const [text, seconds] of cases)
      expect([text, freshnessOf({ headers: { prefer: text }, query: {} }).preferred]).toEqual([text, seconds]);
  });
});

describe('createWaiting', () => {
  type Report = Parameters<OnMoved>[0];

  function start() {
    let report: Report = () => undefined;
    const ending = new AbortController();
    const waiting = createWaiting((to) => {
      report = to;
      return () => undefined;
    }, ending.signal);
    const targets = (sequence: number) => new Map([['actions', sequence]] as const);
    const until = (sequence: number, answer = new PassThrough()) =>
      waiting.until(targets(sequence), { withinMs: 60_000, answer });
    return {
      until,
      moved: (sequence: number) => report({ projection: 'actions', sequence }),
      end: () => ending.abort(),
    };
  }

  it('wakes those whose targets are reached, and nobody else', async () => {
    const { until, moved, end } = start();
    const woken: number[] = [];
    const all = [3, 5].map((sequence) => until(sequence).then(() => woken.push(sequence)));
    moved(2);
    moved(4);
    await all[0];
    expect(woken).toEqual([3]);
    await until(4);
    end();
    await all[1];
    expect(woken).toEqual([3, 5]);
  });

  it('takes a thousand, and refuses the next one', async () => {
    const { until, moved } = start();
    const all = Array.from({ length: 1000 }, () => until(1));
    await expect(until(1)).rejects.toMatchObject({ code: 'BEHIND' });
    moved(1);
    await Promise.all(all);
    await until(1);
  });

  it('fails once its caller hangs up', async () => {
    const { until } = start();
    const answer = new PassThrough();
    const waits = until(1, answer);
    answer.destroy();
    await expect(waits).rejects.toMatchObject({ code: 'CANCELLED' });
  });
});
