import { jetstreamManager } from '@nats-io/jetstream';
import { expect, onTestFinished, test } from 'vitest';
import { PoisonEvent } from '../../../src/engine/log/envelope.ts';
import { streamName } from '../../../src/engine/log/streams.ts';
import { actionOf, cause, decision, freshLog, probeOf, validatorOf } from './fresh-log.ts';
import { eventually } from '../../support/polling.ts';

const page = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => decision(0, validatorOf(`v${from + i}`, 'x'.repeat(500))));

test('last takes any number of entities and leaves unknown ones out', async () => {
  const { log } = await freshLog();
  for (let from = 0; from < 3000; from += 1000) await log.append(page(from, from + 1000), cause);
  const known = Array.from({ length: 3000 }, (_, i) => `v${i}`);
  const found = await log.last('validator', [...known, 'nobody', 'v0']);
  expect([...found.keys()].toSorted()).toEqual(known.toSorted());
  expect(found.get('v2999')).toMatchObject({ sequence: 3000, fact: validatorOf('v2999', 'x'.repeat(500)) });
  expect(await log.last('validator', ['nobody'])).toEqual(new Map());
  expect(await log.last('validator', [])).toEqual(new Map());
});

test('last pages through answers that are larger than the broker sends at once', async () => {
  const { log } = await freshLog();
  const large = Array.from({ length: 30 }, (_, i) => validatorOf(`v${i}`, `${i}`.repeat(250_000)));
  for (const fact of large) await log.append([decision(0, fact)], cause);
  const found = await log.last(
    'validator',
    large.map(({ data }) => data.validator),
  );
  expect([...found.values()].map(({ fact }) => fact)).toEqual(large);
});

test('last gives each entity its own fact, whatever characters its name has', async () => {
  const { log } = await freshLog();
  const names = ['a.b', 'a*', '>', 'a b', '%2E', 'ü', 'a'];
  for (const [i, name] of names.entries()) await log.append([decision(0, probeOf(name, i))], cause);
  expect([...(await log.last('probe', names))].map(([name, { sequence }]) => [name, sequence])).toEqual(
    names.map((name, i) => [name, i + 1]),
  );
  expect([...(await log.lastOfAll('probe')).keys()]).toEqual(names);
});

test('lastOfAll gives the last fact of every entity of a kind, and none of another kind in the stream', async () => {
  const { log } = await freshLog();
  expect(await log.lastOfAll('validator')).toEqual(new Map());
  for (let from = 0; from < 3000; from += 1000) await log.append(page(from, from + 1000), cause);
  const { sequence } = await log.append([decision(1, validatorOf('v0', 'newer'))], cause);
  const all = await log.lastOfAll('validator');
  expect(all.size).toBe(3000);
  expect(all.get('v0')).toMatchObject({ sequence, fact: validatorOf('v0', 'newer') });
  expect(await log.lastOfAll('node')).toEqual(new Map());
});

test('head tells incarnation, first and last sequence, and when the last event was stored', async () => {
  const { log } = await freshLog();
  const empty = await log.head('ACTIONS');
  expect(empty).toEqual({
    incarnation: expect.stringMatching(/^20.*Z$/),
    firstSequence: 0,
    lastSequence: 0,
    lastTime: empty.incarnation,
  });
  await log.append([decision(0, actionOf('1')), decision(0, actionOf('2'))], cause);
  const head = await log.head('ACTIONS');
  expect(head).toMatchObject({ incarnation: empty.incarnation, firstSequence: 1, lastSequence: 2 });
  expect(Date.parse(head.lastTime)).toBeGreaterThan(Date.parse(head.incarnation));
});

test('readOne gives one fact, nothing beyond the end, and throws on what cannot be read', async () => {
  const { log, nc, network } = await freshLog();
  await log.append([decision(0, actionOf('1'))], cause);
  expect(await log.readOne('ACTIONS', 1)).toMatchObject({ sequence: 1, fact: actionOf('1') });
  expect(await log.readOne('ACTIONS', 2)).toBeUndefined();
  nc.publish(`evt.action.${network}.2`, 'not JSON');
  await expect.poll(async () => (await log.head('ACTIONS')).lastSequence).toBe(2);
  await expect(log.readOne('ACTIONS', 2)).rejects.toBeInstanceOf(PoisonEvent);
});

test('watch passes over a subject that nobody here would write', async () => {
  const { nc, network, log } = await freshLog();
  const seen: string[] = [];
  const stop = log.watch(['probe'], (_kind, entity) => seen.push(entity));
  onTestFinished(stop);
  const publish = (entity: string): void => nc.publish(`evt.probe.${network}.${entity}`, 'nothing of ours');
  await eventually(() => {
    publish('%zz');
    publish('plain');
    expect(seen).toContain('plain');
  });
  expect(seen).toContain('%zz');
});

test('watch calls back for stored facts of its kinds until it is stopped', async () => {
  const { log } = await freshLog();
  const seen: string[] = [];
  const stop = log.watch(['probe', 'validator'], (kind, entity) => seen.push(`${kind} ${entity}`));
  await expect
    .poll(async () => {
      await log.append([decision(0, probeOf(`n.${crypto.randomUUID()}`))], cause);
      return seen.length;
    })
    .toBeGreaterThan(0);
  await log.append([decision(0, validatorOf('v.1'))], cause).catch(() => undefined);
  await expect.poll(() => seen).toContain('validator v.1');
  stop();
  const before = seen.length;
  await log.append([decision(0, probeOf('late')), decision(0, probeOf('later'))], cause);
  await log.head('PROBES');
  expect(seen.length).toBe(before);
});

test('however many watch a kind, the broker tells it once, and each hears of the entity it asked for', async () => {
  const { nc, network, log } = await freshLog();
  const manager = await jetstreamManager(nc, { checkAPI: false });
  const consumers = async (): Promise<number> =>
    (await manager.streams.info(streamName('PROBES', network))).state.consumer_count;
  const heard = new Map<string, number>();
  const watchOf = (entity: string) =>
    log.watch(['probe'], (_kind, told) => heard.set(`${entity} of ${told}`, 1), entity === 'all' ? undefined : entity);
  const stops = ['all', 'n.1', 'n.2', ...Array.from({ length: 50 }, () => 'n.3')].map(watchOf);
  await expect
    .poll(async () => {
      await log.append([decision(0, probeOf(`n.${crypto.randomUUID()}`))], cause);
      return heard.size;
    })
    .toBeGreaterThan(0);
  await log.append([decision(0, probeOf('n.1')), decision(0, probeOf('n.3'))], cause);
  await expect
    .poll(() => [...heard.keys()])
    .toEqual(expect.arrayContaining(['n.1 of n.1', 'n.3 of n.3', 'all of n.3']));
  expect([...heard.keys()].filter((told) => told.startsWith('n.2'))).toEqual([]);
  expect(await consumers()).toBe(1);
  for (const stop of stops) stop();
  await expect.poll(consumers).toBe(0);
});
