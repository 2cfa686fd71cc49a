import { expect, test } from 'vitest';
import { gradeOf, readDurability } from '../../../src/engine/log/durability.ts';
import { testNats } from '../../support/programs/servers.ts';

test('readDurability reads the grade in force from the server', async () => {
  expect(await readDurability(testNats().monitorUrl)).toBe('relaxed');
});

test('readDurability guesses nothing where there is no address or no answer', async () => {
  expect(await readDurability(undefined)).toBe('unknown');
  expect(await readDurability('http://127.0.0.1:1')).toBe('unknown');
});

test('readDurability takes the least of several servers, whichever of them answer', async () => {
  const { monitorUrl } = testNats();
  expect(await readDurability(`http://127.0.0.1:1,${monitorUrl}`)).toBe('relaxed');
});

test('gradeOf tells sync on every write from sync by the clock', () => {
  expect(gradeOf({ config: { sync_always: true, sync_interval: 120e9 } })).toBe('strict');
  expect(gradeOf({ config: { sync_interval: 1e9 } })).toBe('bounded');
  expect(gradeOf({ config: { sync_always: false, sync_interval: 120e9 } })).toBe('relaxed');
  expect(gradeOf({})).toBe('unknown');
  expect(gradeOf(null)).toBe('unknown');
});
