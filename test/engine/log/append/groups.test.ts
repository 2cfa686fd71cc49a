import { expect, test } from 'vitest';
import { toAppError } from '../../../../src/kit/errors.ts';
import { createLog, type Log } from '../../../../src/engine/log/log.ts';
import { createPace, type GroupPace } from '../../../../src/engine/log/append/groups.ts';
import { testNats } from '../../../support/programs/servers.ts';
import { appendWhileBreaking } from '../breaking-link.ts';
import { type FaultyLink, faultyLink } from '../faulty-link.ts';
import { cause, connected, decision, everything, freshLog, probeOf, validatorOf } from '../fresh-log.ts';

/** A pace that groups whatever waits, and the sizes of all groups that it was asked for. */
function groupAlways(): { pace: GroupPace; grouped: () => number } {
  let groups = 0;
  const pace = { isForGroup: (size: number) => size > 1, alone: () => undefined, grouped: () => void groups++ };
  return { pace, grouped: () => groups };
}

/** A log, and the same one that groups, over a link that can go wrong. */
async function logs(): Promise<{ log: Log; grouping: Log; link: FaultyLink; grouped: () => number }> {
  const { log, network } = await freshLog();
  const { url, user, pass } = testNats();
  const link = await faultyLink(url);
  const { pace, grouped } = groupAlways();
  return { log, grouping: createLog(await connected({ url: link.url, user, pass }), network, { pace }), link, grouped };
}

const sequencesOf = async (log: Log, entities: readonly string[]): Promise<(number | undefined)[]> => {
  const found = await log.last('probe', entities);
  return entities.map((entity) => found.get(entity)?.sequence);
};

test('append in a group gives each fact its own sequence and keeps each expectation', async () => {
  const { log, grouping, grouped } = await logs();
  const nodes = Array.from({ length: 40 }, (_, i) => `n${i}`);
  const first = await Promise.all(nodes.map((node) => grouping.append([decision(0, probeOf(node))], cause)));
  expect(first.map(({ sequence }) => sequence)).toEqual(await sequencesOf(log, nodes));
  const second = await Promise.all(
    nodes.map((node, i) => grouping.append([decision(first[i]?.sequence ?? 0, probeOf(node, 1))], cause)),
  );
  expect(second.map(({ sequence }) => sequence)).toEqual(await sequencesOf(log, nodes));
  expect(await everything(log, 'PROBES')).toHaveLength(80);
  await expect.poll(grouped).toBe(2);
});

test('append in a group beside one that is refused is stored once, and only the refused one is a conflict', async () => {
  const { log, grouping, grouped } = await logs();
  await log.append([decision(0, probeOf('n7'))], cause);
  const nodes = Array.from({ length: 30 }, (_, i) => `n${i}`);
  const outcomes = await Promise.all(
    nodes.map((node) =>
      grouping.append([decision(0, probeOf(node, 5))], cause).then(
        ({ sequence }) => sequence,
        (caught: unknown) => toAppError(caught).code,
      ),
    ),
  );
  expect(outcomes[7]).toBe('CONFLICT');
  const others = nodes.filter((node) => node !== 'n7');
  expect(outcomes.filter((_, i) => i !== 7)).toEqual(await sequencesOf(log, others));
  expect(await everything(log, 'PROBES')).toHaveLength(30);
  await expect.poll(grouped).toBe(1);
});

test('append in a group whose answer was lost succeeds once, with the sequence of the first try', async () => {
  const { log, grouping, link } = await logs();
  link.deafen();
  const nodes = Array.from({ length: 30 }, (_, i) => `n${i}`);
  const first = grouping.append([decision(0, probeOf('n0'))], cause);
  const rest = nodes.slice(1).map((node) => grouping.append([decision(0, probeOf(node))], cause));
  await expect.poll(async () => (await log.head('PROBES')).lastSequence).toBe(1);
  link.cut();
  await first;
  expect((await Promise.all([first, ...rest])).map(({ sequence }) => sequence)).toEqual(await sequencesOf(log, nodes));
  expect(await everything(log, 'PROBES')).toHaveLength(30);
});

test('append of a group that a link loses after it was stored stores each fact exactly once', async () => {
  const { log, grouping, link, grouped } = await logs();
  const nodes = Array.from({ length: 60 }, (_, i) => `n${i}`);
  const appends = nodes.map((node) => grouping.append([decision(0, probeOf(node))], cause));
  // The first leaves alone; the others leave as a group once it has its answer.
  await appends[0];
  link.deafen();
  await expect.poll(async () => (await log.head('PROBES')).lastSequence).toBe(60);
  link.cut();
  expect((await Promise.all(appends)).map(({ sequence }) => sequence)).toEqual(await sequencesOf(log, nodes));
  expect(await everything(log, 'PROBES')).toHaveLength(60);
  await expect.poll(grouped).toBe(1);
});

test('append by many in groups over a link that breaks again and again stores each fact exactly once', async () => {
  const { log, grouping, link } = await logs();
  await appendWhileBreaking({ log, over: grouping, link });
});

test('append in a group to a full stream stores what fits, and the others are UNAVAILABLE', async () => {
  const { nc, network, log } = await freshLog({ maxBytes: 200_000 });
  const grouping = createLog(nc, network, { pace: groupAlways().pace });
  const filler = 'x'.repeat(20_000);
  const appends = Array.from({ length: 30 }, (_, i) =>
    grouping.append([decision(0, validatorOf(`v${i}`, filler))], cause).then(
      () => 'stored',
      (caught: unknown) => toAppError(caught).code,
    ),
  );
  const outcomes = await Promise.all(appends);
  const { lastSequence } = await log.head('NODES');
  expect(lastSequence).toBeGreaterThan(1);
  expect(outcomes.filter((outcome) => outcome === 'stored')).toHaveLength(lastSequence);
  expect(outcomes.filter((outcome) => outcome === 'UNAVAILABLE')).toHaveLength(30 - lastSequence);
});

test('createPace groups many slow appends, not fast ones or few, and not where groups are slower still', () => {
  const pace = createPace();
  const observe = (tookMs: number): void => {
    for (let i = 0; i < 200; i++) pace.alone(tookMs, 32);
  };
  expect(pace.isForGroup(1000)).toBe(false);
  observe(3);
  expect(pace.isForGroup(32)).toBe(false);
  observe(35);
  expect([pace.isForGroup(32), pace.isForGroup(15)]).toEqual([true, false]);
  for (let i = 0; i < 20; i++) pace.grouped(100);
  expect(pace.isForGroup(32)).toBe(false);
  expect(pace.isForGroup(200)).toBe(true);
  for (let i = 0; i < 200; i++) observe(35);
  expect(pace.isForGroup(32)).toBe(true);
});
