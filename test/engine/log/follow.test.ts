import { jetstreamManager } from '@nats-io/jetstream';
import { expect, test } from 'vitest';
import { createLog, type Log } from '../../../src/engine/log/log.ts';
import { ensureStreams, streamName } from '../../../src/engine/log/streams.ts';
import { testNats } from '../../support/programs/servers.ts';
import { faultyLink } from './faulty-link.ts';
import { actionOf, cause, connected, decision, everything, freshLog, probeOf, thinOut } from './fresh-log.ts';

/** Follows until `enough` facts have come; gives their sequences and batches. */
async function follow(
  log: Log,
  enough: number,
  { after = 0, maxFacts = 5000 } = {},
): Promise<{ sequences: number[]; sizes: number[] }> {
  const reading = new AbortController();
  const [sequences, sizes]: number[][] = [[], []];
  for await (const { facts } of log.follow('ACTIONS', after, { maxFacts, signal: reading.signal })) {
    sequences?.push(...facts.map(({ sequence }) => sequence));
    sizes?.push(facts.length);
    if ((sequences?.length ?? 0) >= enough) reading.abort();
  }
  return { sequences: sequences ?? [], sizes: sizes ?? [] };
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i);
const actions = (from: number, to: number) => range(from, to).map((i) => decision(0, actionOf(`${i}`)));

test('follow gives all facts after a sequence in order, in bounded batches, and says how many are left', async () => {
  const { log } = await freshLog();
  await log.append(actions(1, 1000), cause);
  await log.append(actions(1001, 1500), cause);
  expect((await follow(log, 1500)).sequences).toEqual(range(1, 1500));
  const { sequences, sizes } = await follow(log, 1400, { after: 100, maxFacts: 70 });
  expect(sequences).toEqual(range(101, 1500));
  expect(Math.max(...sizes)).toBeLessThanOrEqual(70);
  expect(await everything(log, 'ACTIONS', 1499)).toHaveLength(1);
});

test('follow goes on with live facts and ends when it is told to', async () => {
  const { log } = await freshLog();
  const reading = follow(log, 30);
  for (const one of actions(1, 30)) await log.append([one], cause);
  expect((await reading).sequences).toEqual(range(1, 30));
  const ended = new AbortController();
  ended.abort();
  for await (const _ of log.follow('ACTIONS', 0, { signal: ended.signal })) expect.unreachable();
});

test('follow ends at once when it is told to while it waits', async () => {
  const { log } = await freshLog();
  const reading = new AbortController();
  const batches = log.follow('ACTIONS', 0, { signal: reading.signal })[Symbol.asyncIterator]();
  const waiting = batches.next();
  reading.abort();
  expect(await waiting).toEqual({ done: true, value: undefined });
});

test('follow comes back by itself, without a gap or a repetition, when the connection breaks', async () => {
  const { log, network } = await freshLog();
  const { url, user, pass } = testNats();
  const link = await faultyLink(url);
  const remote = createLog(await connected({ url: link.url, user, pass }), network);
  const reading = follow(remote, 900, { maxFacts: 50 });
  for (let from = 1; from <= 900; from += 300) {
    await log.append(actions(from, from + 299), cause);
    link.cut();
  }
  expect((await reading).sequences).toEqual(range(1, 900));
});

test('follow goes on when the broker takes its consumer away', async () => {
  const { log, nc, network } = await freshLog();
  await log.append(actions(1, 5), cause);
  const manager = await jetstreamManager(nc);
  const name = streamName('ACTIONS', network);
  const reading = follow(log, 10);
  const consumers = async (): Promise<string[]> =>
    (await manager.consumers.list(name).next()).map((consumer) => consumer.name);
  await expect.poll(consumers).toHaveLength(1);
  for (const consumer of await consumers()) await manager.consumers.delete(name, consumer);
  await log.append(actions(6, 10), cause);
  expect((await reading).sequences).toEqual(range(1, 10));
});

test('follow gives large facts, of which a request of messages holds only some', async () => {
  const { log } = await freshLog();
  const genesis = 'x'.repeat(1_500_000);
  for (let i = 0; i < 40; i++) {
    const fact = {
      type: 'ChainInitialised',
      data: { chain: 'chain', chainId: `${i}`, time: cause.at, genesis },
    } as const;
    await log.append([{ kind: 'ledger', entity: 'chain', facts: [fact], expected: i }], cause);
  }
  expect((await everything(log, 'LEDGER')).map(({ sequence }) => sequence)).toEqual(range(1, 40));
});

test('follow throws the position of an unreadable event, after all facts before it', async () => {
  const { log, nc, network } = await freshLog();
  await log.append(actions(1, 3), cause);
  nc.publish(
    `evt.action.${network}.x`,
    '{"specversion":"1.0","id":"i","type":"annals.ActionVanished.v1","time":"t","data":{}}',
  );
  await expect.poll(async () => (await log.head('ACTIONS')).lastSequence).toBe(4);
  await log.append(actions(5, 6), cause);
  const seen: number[] = [];
  const reading = async (): Promise<void> => {
    for await (const { facts } of log.follow('ACTIONS', 0, { signal: new AbortController().signal }))
      seen.push(...facts.map(({ sequence }) => sequence));
  };
  await expect(reading()).rejects.toMatchObject({
    name: 'PoisonEvent',
    sequence: 4,
    reason: expect.stringContaining('annals.ActionVanished.v1'),
  });
  expect(seen).toEqual([1, 2, 3]);
  expect(await everything(log, 'ACTIONS', 4)).toHaveLength(2);
});

test('follow throws where the log is shorter than the position it is asked to go on from', async () => {
  const { log } = await freshLog();
  await log.append(actions(1, 3), cause);
  await expect(follow(log, 1, { after: 4 })).rejects.toMatchObject({ name: 'PoisonEvent', sequence: 4 });
});

test('follow that verifies the last fact throws where a log that lost its end has grown past it', async () => {
  const { log, nc, network } = await freshLog();
  await log.append(actions(1, 3), cause);
  const { signal } = new AbortController();
  const batches = log.follow('ACTIONS', 0, { signal, verifiesLast: true })[Symbol.asyncIterator]();
  for (let seen = 0; seen < 3;) seen += (await batches.next()).value?.facts.length ?? Number.NaN;
  await (await jetstreamManager(nc)).streams.delete(streamName('ACTIONS', network));
  await ensureStreams(nc, network);
  await log.append(actions(11, 15), cause);
  await expect(batches.next()).rejects.toMatchObject({
    sequence: 3,
    reason: expect.stringContaining('holds another event there'),
  });
});

test('follow passes over gaps in PROBES, where old facts of a node are dropped', async () => {
  const { log, nc, network } = await freshLog();
  await log.append([decision(0, probeOf('a', 1))], cause);
  await log.append([decision(0, probeOf('b', 1))], cause);
  await log.append([decision(1, probeOf('a', 2))], cause);
  await thinOut(nc, network, 'PROBES');
  expect((await everything(log, 'PROBES')).map(({ sequence }) => sequence)).toEqual([2, 3]);
});

test('follow throws at a gap and at a late beginning where everything is kept', async () => {
  const { log, nc, network } = await freshLog();
  await log.append(
    [decision(0, actionOf('1', 1)), decision(0, actionOf('2', 1), actionOf('2', 2)), decision(0, actionOf('3'))],
    cause,
  );
  await thinOut(nc, network, 'ACTIONS');
  await expect(follow(log, 4)).rejects.toMatchObject({
    name: 'PoisonEvent',
    sequence: 2,
    reason: 'the log goes on at 3',
  });
  expect((await follow(log, 2, { after: 2 })).sequences).toEqual([3, 4]);
  await log.append([decision(1, actionOf('1', 2))], cause);
  await expect(follow(log, 1)).rejects.toMatchObject({
    name: 'PoisonEvent',
    sequence: 1,
    reason: 'the log begins at 3',
  });
});
