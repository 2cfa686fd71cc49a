import { expect, test } from 'vitest';
import { createAbsence } from '../../../src/edges/gateway/tasks/absence.ts';

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
