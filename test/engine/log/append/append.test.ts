import { expect, test } from 'vitest';
import { toAppError } from '../../../../src/kit/errors.ts';
import { createAppender } from '../../../../src/engine/log/append/appender.ts';
import { createLog } from '../../../../src/engine/log/log.ts';
import { actionOf, cause, connected, decision, everything, freshLog, probeOf, validatorOf } from '../fresh-log.ts';

const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'stored',
    (caught: unknown) => toAppError(caught).code,
  );

test('append stores a fact that last gives back with id, sequence and time', async () => {
  const { log } = await freshLog();
  const fact = probeOf('lumeravaloper1a', 7);
  const { stream, sequence, ids } = await log.append([decision(0, fact)], cause);
  expect({ stream, sequence }).toEqual({ stream: 'PROBES', sequence: 1 });
  const found = await log.last('probe', ['lumeravaloper1a', 'lumeravaloper1b']);
  expect([...found]).toEqual([['lumeravaloper1a', { fact, id: ids[0], sequence: 1, time: cause.at }]]);
});

test('append stores a CloudEvent that says why it was written', async () => {
  const { log, nc, network } = await freshLog();
  const live = nc.subscribe(`live.probe.${network}.>`, { max: 1 });
  const { ids } = await log.append([decision(0, probeOf('n.1'))], {
    ...cause,
    correlation: 'c',
    causation: 'b',
    traceparent: '00-1-2-01',
  });
  for await (const msg of live) {
    expect(msg.subject).toBe(`live.probe.${network}.n%2E1`);
    expect(msg.headers?.get('Nats-Msg-Id')).toBe(ids[0]);
    expect(msg.json()).toEqual({
      specversion: '1.0',
      id: ids[0],
      source: `annals/${network}`,
      type: 'annals.ProbeFailed.v1',
      subject: 'n.1',
      time: cause.at,
      correlationid: 'c',
      causationid: 'b',
      traceparent: '00-1-2-01',
      data: probeOf('n.1').data,
    });
  }
});

test('append links each fact to the one of its entity before it, within a batch too', async () => {
  const { log } = await freshLog();
  const { ids } = await log.append(
    [decision(0, actionOf('1')), decision(0, actionOf('2', 1), actionOf('2', 2))],
    cause,
  );
  const more = { ...decision(3, actionOf('2', 3), actionOf('2', 4)), previous: ids[2] };
  const { ids: later } = await log.append([more, decision(1, actionOf('1', 2))], cause);
  expect((await everything(log, 'ACTIONS')).map(({ previous }) => previous)).toEqual([
    undefined,
    undefined,
    ids[1],
    ids[2],
    later[0],
    undefined,
  ]);
});

test('append refuses an expectation that no longer holds, and says so once each', async () => {
  const { nc, network } = await freshLog();
  const refused: string[] = [];
  const log = createLog(nc, network, { onRefused: (stream) => refused.push(stream) });
  await log.append([decision(0, probeOf('a', 1))], cause);
  expect(await codeOf(log.append([decision(0, probeOf('a', 2))], cause))).toBe('CONFLICT');
  expect(await codeOf(log.append([decision(1, probeOf('a', 2))], cause))).toBe('stored');
  expect(await codeOf(log.append([decision(1, probeOf('a', 3))], cause))).toBe('CONFLICT');
  expect(await codeOf(log.append([decision(9, probeOf('b', 3))], cause))).toBe('CONFLICT');
  expect(refused).toEqual(['PROBES', 'PROBES', 'PROBES']);
  expect((await log.head('PROBES')).lastSequence).toBe(2);
});

test('append of a fact that is the last one already succeeds with its sequence', async () => {
  const { log } = await freshLog();
  const first = await log.append([decision(0, probeOf('a', 1))], cause);
  await log.append([decision(0, probeOf('b', 1))], cause);
  expect(await log.append([decision(0, probeOf('a', 1))], cause)).toEqual(first);
  const another = { ...decision(0, probeOf('a', 1)), previous: 'what it followed does not count' };
  expect(await log.append([another], cause)).toEqual(first);
  const batch = [decision(0, validatorOf('a')), decision(0, validatorOf('b'))];
  expect(await log.append(batch, cause)).toEqual(await log.append(batch, cause));
  expect((await log.head('NODES')).lastSequence).toBe(2);
});

test('append stores a fact that happens again after another one, though it has the same id', async () => {
  const { log } = await freshLog();
  const first = await log.append([decision(0, probeOf('a', 1))], cause);
  await log.append([decision(1, probeOf('a', 2))], cause);
  expect(await log.append([decision(2, probeOf('a', 1))], cause)).toEqual({ ...first, sequence: 3 });
  expect((await log.last('probe', ['a'])).get('a')).toMatchObject({ sequence: 3, fact: probeOf('a', 1) });
});

test('append stores several facts of several entities, or none of them', async () => {
  const { log } = await freshLog();
  const { sequence } = await log.append(
    [decision(0, actionOf('1', 1), actionOf('1', 2), actionOf('1', 3)), decision(0, actionOf('2'))],
    cause,
  );
  expect(sequence).toBe(4);
  const stale = [decision(0, actionOf('3')), decision(2, actionOf('1', 4)), decision(0, actionOf('5'))];
  expect(await codeOf(log.append(stale, cause))).toBe('CONFLICT');
  expect([...(await log.last('action', ['1', '2', '3', '5'])).values()].map(({ sequence: at }) => at)).toEqual([3, 4]);
  expect((await log.head('ACTIONS')).lastSequence).toBe(4);
});

test('append of a batch that is partly there is a conflict and stores nothing', async () => {
  const { log } = await freshLog();
  await log.append([decision(0, actionOf('1'))], cause);
  expect(await codeOf(log.append([decision(0, actionOf('1')), decision(0, actionOf('2'))], cause))).toBe('CONFLICT');
  expect((await log.head('ACTIONS')).lastSequence).toBe(1);
});

test('append takes 1,000 facts at once, and no more', async () => {
  const { log } = await freshLog();
  const page = Array.from({ length: 1001 }, (_, i) => decision(0, validatorOf(`v${i}`)));
  const { sequence, ids } = await log.append(page.slice(0, 1000), cause);
  expect({ sequence, ids: new Set(ids).size }).toEqual({ sequence: 1000, ids: 1000 });
  await expect(log.append(page, cause)).rejects.toThrow('more than the 1000');
});

test('append refuses facts of two streams, none at all, and a fact of another entity', async () => {
  const { log } = await freshLog();
  expect(await codeOf(log.append([decision(0, probeOf('a')), decision(0, actionOf('1'))], cause))).toBe('INTERNAL');
  expect(await codeOf(log.append([], cause))).toBe('INTERNAL');
  expect(await codeOf(log.append([{ ...decision(0, probeOf('a')), entity: 'b' }], cause))).toBe('INTERNAL');
});

test('append refuses an event larger than a message may be', async () => {
  const { log, nc } = await freshLog();
  const large = validatorOf('v', 'x'.repeat(nc.info?.max_payload ?? 0));
  await expect(log.append([decision(0, large)], cause)).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining('larger than the broker takes'),
  });
});

test('append to one entity by many at once keeps their order and loses none', async () => {
  const { log } = await freshLog();
  const all = Array.from({ length: 200 }, (_, i) => log.append([decision(i, probeOf('a', i))], cause));
  expect((await Promise.all(all)).map(({ sequence }) => sequence)).toEqual(
    Array.from({ length: 200 }, (_, i) => i + 1),
  );
});

test('append to a full stream is UNAVAILABLE and says so, alone and in a batch, and reading goes on', async () => {
  const { log } = await freshLog({ maxBytes: 200_000 });
  const filler = 'x'.repeat(20_000);
  const fill = async (): Promise<void> => {
    for (let i = 0; ; i++) await log.append([decision(0, validatorOf(`v${i}`, `${i}${filler}`))], cause);
  };
  await expect(fill()).rejects.toMatchObject({ code: 'UNAVAILABLE', message: expect.stringContaining('is full') });
  const { lastSequence } = await log.head('NODES');
  const batch = Array.from({ length: 30 }, (_, i) => decision(0, validatorOf(`w${i}`, filler)));
  await expect(log.append(batch, cause)).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringContaining('is full'),
  });
  expect((await log.head('NODES')).lastSequence).toBe(lastSequence);
  expect(await everything(log, 'NODES')).toHaveLength(lastSequence);
});

test('append fails with UNAVAILABLE where there is no stream', async () => {
  const append = createAppender(await connected(), 'nowhere', { giveUpAfterMs: 300 });
  await expect(append([decision(0, probeOf('a'))], cause)).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringContaining('no stream answers'),
  });
});

test('append and reads fail with UNAVAILABLE at once when the connection is closed', async () => {
  const { log, nc } = await freshLog();
  await nc.close();
  expect(await codeOf(log.append([decision(0, probeOf('a'))], cause))).toBe('UNAVAILABLE');
  expect(await codeOf(log.last('probe', ['a']))).toBe('UNAVAILABLE');
  expect(await codeOf(log.lastOfAll('probe'))).toBe('UNAVAILABLE');
  expect(await codeOf(log.head('PROBES'))).toBe('UNAVAILABLE');
});
