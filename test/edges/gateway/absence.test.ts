import { expect, onTestFinished, test } from 'vitest';
import { pino } from 'pino';
import { createAbsence } from '../../../src/edges/gateway/tasks/absence.ts';
import { followOpenTasks } from '../../../src/edges/gateway/tasks/open-tasks.ts';
import { currentTask, endTask, newTaskId, startTask, type Task } from '../../../src/edges/gateway/tasks/task-log.ts';
import { connectNats } from '../../../src/engine/log/connection.ts';
import { createLog, type Log } from '../../../src/engine/log/log.ts';
import { ensureStreams } from '../../../src/engine/log/streams.ts';
import { freshNetwork, testNats } from '../../support/programs/servers.ts';

const graceMs = 2_500;

/** Gateways that are announced as a test says, at a time that it says. */
function observed() {
  let names: readonly string[] | undefined = [];
  let now = 0;
  const present = async (): Promise<ReadonlySet<string>> => {
    if (names) return new Set(names);
    throw new Error('The broker is away');
  };
  const absence = createAbsence({ present }, { graceMs, clock: () => now });
  const at = async (ms: number, announced: readonly string[] | undefined): Promise<boolean> => {
    [now, names] = [ms, announced];
    await absence.observe().catch(() => undefined);
    return absence.isGone('store.one');
  };
  return { absence, at, later: (ms: number) => (now = ms) };
}

test('a gateway that the last observation saw is there, however late the next one comes', async () => {
  const { absence, at, later } = observed();
  expect(await at(0, ['store.one'])).toBe(false);
  expect(await at(1_000, ['store.one'])).toBe(false);
  later(60_000);
  expect([absence.isGone('store.one'), absence.isUnserved('store')]).toEqual([false, false]);
});

test('a gateway is gone once observations have missed it for a while, and its store is unserved', async () => {
  const { absence, at } = observed();
  expect(await at(0, ['store.one'])).toBe(false);
  expect(await at(1_000, [])).toBe(false);
  expect(await at(3_400, [])).toBe(false);
  expect(await at(3_500, [])).toBe(true);
  expect(absence.isUnserved('store')).toBe(true);
  expect(await at(4_500, ['store.two'])).toBe(true);
  expect(absence.isUnserved('store')).toBe(false);
});

test('a gateway that began since is not missed in observations of before', async () => {
  const { absence, at } = observed();
  for (const ms of [0, 1_000, 2_000, 9_000]) await at(ms, ['store.one']);
  expect([absence.isGone('new.two'), absence.isUnserved('new')]).toEqual([false, false]);
});

test('an observation that fails takes back what earlier ones have missed', async () => {
  const { at } = observed();
  await at(0, []);
  await at(1_000, []);
  expect(await at(2_000, undefined)).toBe(false);
  expect(await at(4_000, [])).toBe(false);
  expect(await at(6_500, [])).toBe(true);
});

/** Counts the facts that come by scans of a kind, and how many scans there were. */
function countingScans(log: Log) {
  const scans = { count: 0, facts: 0 };
  const counting: Log = {
    ...log,
    async *lastPages(...of) {
      scans.count += 1;
      for await (const facts of log.lastPages(...of)) {
        scans.facts += facts.length;
        yield facts;
      }
    },
    lastOfAll: async (kind) => {
      scans.count += 1;
      return await log.lastOfAll(kind);
    },
  };
  return { scans, counting };
}

test(
  'ended tasks are read at no time, and the open ones once: after that their facts are followed',
  { tags: ['S3.restart.open'] },
  async () => {
    const network = freshNetwork();
    const nc = await connectNats({ ...testNats(), name: 'open tasks test' });
    await ensureStreams(nc, network);
    const log = createLog(nc, network);
    const ending = new AbortController();
    const requested = { direction: 'download', isPrivate: true, action: '7', store: 's', holder: 's.one' } as const;
    const begin = async (): Promise<Task> =>
      await startTask(log, newTaskId(), { ...requested, at: new Date().toISOString() });
    const end = async (task: Task): Promise<void> => await endTask(log, await currentTask(log, task), {});
    const ended = await Promise.all(Array.from({ length: 60 }, async () => await begin()));
    await Promise.all(ended.map(end));
    const open = [await begin(), await begin(), await begin()];

    const { scans, counting } = countingScans(log);
    const tasks = followOpenTasks(counting, { logger: pino({ level: 'silent' }), signal: ending.signal });
    onTestFinished(async () => {
      ending.abort();
      await tasks.ended;
      await nc.close();
    });
    const names = () => tasks.all().map(({ name }) => name);
    await tasks.ready;
    expect(names().toSorted()).toEqual(open.map(({ name }) => name).toSorted());
    expect(scans).toEqual({ count: 2, facts: 3 });
    for (const task of open) await end(task);
    for (let round = 0; round < 5; round += 1) {
      const next = await begin();
      await tasks.upToNow();
      expect(names()).toEqual([next.name]);
      await end(next);
    }
    await tasks.upToNow();
    expect([names(), scans]).toEqual([[], { count: 2, facts: 3 }]);
  },
);
