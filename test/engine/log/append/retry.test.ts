import type { NatsConnection } from '@nats-io/transport-node';
import { expect, test } from 'vitest';
import { createLog, type Log } from '../../../../src/engine/log/log.ts';
import { judge } from '../../../../src/engine/log/append/appender.ts';
import { readHeads } from '../../../../src/engine/log/head.ts';
import { createLeases } from '../../../../src/engine/log/leases.ts';
import { testNats } from '../../../support/programs/servers.ts';
import { appendWhileBreaking } from '../breaking-link.ts';
import { faultyLink, type FaultyLink } from '../faulty-link.ts';
import { actionOf, cause, connected, decision, everything, freshLog, probeOf } from '../fresh-log.ts';

/** A log, and the same one over a link that can go wrong. */
async function logs(): Promise<{ log: Log; remote: Log; far: NatsConnection; network: string; link: FaultyLink }> {
  const { log, network } = await freshLog();
  const { url, user, pass } = testNats();
  const link = await faultyLink(url);
  const far = await connected({ url: link.url, user, pass });
  return { log, remote: createLog(far, network), far, network, link };
}

const stored = (log: Log, stream: Parameters<Log['head']>[0], sequence: number): Promise<void> =>
  expect.poll(async () => (await log.head(stream)).lastSequence).toBe(sequence);

test('append whose answer was lost is repeated and succeeds once, with the sequence of the first try', async () => {
  const { log, remote, link } = await logs();
  link.deafen();
  const appended = remote.append([decision(0, probeOf('a'))], cause);
  await stored(log, 'PROBES', 1);
  await log.append([decision(0, probeOf('b'))], cause);
  link.cut();
  expect(await appended).toMatchObject({ stream: 'PROBES', sequence: 1 });
  expect(await everything(log, 'PROBES')).toHaveLength(2);
});

test('append of a batch whose answer was lost is repeated and succeeds once', async () => {
  const { log, remote, link } = await logs();
  link.deafen();
  const batch = Array.from({ length: 300 }, (_, i) => decision(0, actionOf(`${i}`, 1), actionOf(`${i}`, 2)));
  const appended = remote.append(batch, cause);
  await stored(log, 'ACTIONS', 600);
  link.cut();
  expect(await appended).toMatchObject({ stream: 'ACTIONS', sequence: 600 });
  expect(await everything(log, 'ACTIONS')).toHaveLength(600);
});

test('append whose answer was lost is a conflict where another one wrote since', async () => {
  const { log, remote, link } = await logs();
  link.deafen();
  const appended = remote
    .append([decision(0, actionOf('1', 1)), decision(0, actionOf('2', 1))], cause)
    .catch((caught: unknown) => caught);
  await stored(log, 'ACTIONS', 2);
  await log.append([decision(2, actionOf('2', 2))], cause);
  link.cut();
  expect(await appended).toMatchObject({ code: 'CONFLICT' });
  expect(await everything(log, 'ACTIONS')).toHaveLength(3);
});

test('append by many over a link that breaks again and again stores each fact exactly once', async () => {
  const { log, remote, link } = await logs();
  await appendWhileBreaking({ log, over: remote, link });
});

test('judge tells a full stream from a conflict, which share an error code', () => {
  const refused = (code: number, description = ''): ReturnType<typeof judge> =>
    judge({ kind: 'refused', code, description });
  expect(refused(10_077, 'maximum bytes exceeded')).toBe('full');
  expect(refused(10_077, 'maximum messages exceeded')).toBe('full');
  expect(refused(10_077, 'maximum messages per subject exceeded')).toBe('conflict');
  expect(refused(10_077, 'write error')).toBe('refused');
  expect(refused(10_071, 'wrong last sequence: 7')).toBe('conflict');
  expect(refused(10_201)).toBe('conflict');
  expect([10_164, 10_167].map((code) => refused(code))).toEqual(['again', 'again']);
  expect(judge({ kind: 'lost', why: 'no answer' })).toBe('again');
});

test('reads whose answers were lost with the connection are repeated at once', async () => {
  const { log, remote, link } = await logs();
  await log.append([decision(0, probeOf('a'))], cause);
  link.deafen();
  const read = Promise.all([remote.last('probe', ['a']), remote.lastOfAll('probe'), remote.readOne('PROBES', 1)]);
  const head = remote.head('PROBES').catch((caught: unknown) => caught);
  await log.head('PROBES');
  link.cut();
  const [last, all, one] = await read;
  expect([last.get('a')?.sequence, all.get('a')?.sequence, one?.sequence]).toEqual([1, 1, 1]);
  expect(await head).toMatchObject({ code: 'UNAVAILABLE', message: expect.stringContaining('the connection broke') });
});

test('whatever else is asked of the broker fails with the connection, where the client would wait for its timeout', async () => {
  const { log, far, network, link } = await logs();
  const leases = createLeases(far, network);
  await leases.holder('none');
  link.deafen();
  const asked = [readHeads(far, network), leases.holder('none'), leases.list()].map((answer) =>
    answer.catch((caught: unknown) => caught),
  );
  await log.head('PROBES');
  link.cut();
  for (const failure of await Promise.all(asked))
    expect(failure).toMatchObject({ code: 'UNAVAILABLE', message: expect.stringContaining('the connection broke') });
});
