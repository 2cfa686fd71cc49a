import { expect, test } from 'vitest';
import { createKeyFilter } from '../../../src/engine/models/engine/key-filter.ts';

const keys = (from: number, count: number) => Array.from({ length: count }, (_, place) => String(from + place));

test('createKeyFilter knows every key of its own, and takes none of the next 100,000 for one', () => {
  const filter = createKeyFilter();
  const own = keys(1, 300_000);
  const mistaken: string[] = [];
  for (const key of own) {
    if (filter.mayHold(key)) mistaken.push(key);
    filter.add(key);
  }
  expect(mistaken).toEqual([]);
  expect(own.filter((key) => !filter.mayHold(key))).toEqual([]);
  expect(keys(300_001, 100_000).filter((key) => filter.mayHold(key))).toEqual([]);
});
