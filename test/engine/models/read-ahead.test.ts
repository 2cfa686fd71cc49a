import { expect, test } from 'vitest';
import { readAhead } from '../../../src/engine/models/engine/source.ts';
import { nodeFacts } from '../../support/histories/facts.ts';
import { MemoryLog } from './memory-log.ts';

function logOf(count: number, batchSize: number): MemoryLog {
  const log = new MemoryLog();
  log.batchSize = batchSize;
  log.append(...Array.from({ length: count }, () => nodeFacts('a').listed()));
  return log;
}

/** The sequences of each batch, until as many facts as that were read. */
async function read(log: MemoryLog, count: number, options: { maxFacts: number; fill?: boolean }): Promise<number[][]> {
  const batches: number[][] = [];
  const signal = new AbortController().signal;
  for await (const { facts } of readAhead(log, { stream: 'NODES', after: 0 }, { ...options, signal })) {
    batches.push(facts.map(({ sequence }) => sequence));
    await new Promise(setImmediate);
    if (batches.flat().length >= count) break;
  }
  return batches;
}

const upTo = (count: number) => Array.from({ length: count }, (_, at) => at + 1);

test('readAhead gives what came while the last batch was worked on as one batch', async () => {
  const batches = await read(logOf(100, 3), 100, { maxFacts: 1000 });
  expect(batches[0]).toEqual([1, 2, 3]);
  expect(batches).toHaveLength(2);
  expect(batches.flat()).toEqual(upTo(100));
});

test('readAhead holds no more than it may, and fills its batches where that is asked for', async () => {
  const batches = await read(logOf(100, 3), 100, { maxFacts: 20, fill: true });
  expect(batches.map(({ length }) => length)).toEqual([21, 21, 21, 21, 16]);
  expect(batches.flat()).toEqual(upTo(100));
});

test('readAhead holds no more bytes than a batch beyond its bound, however few the facts', async () => {
  const log = logOf(100, 3);
  log.bytesOfFact = 4 * 1024 * 1024;
  const batches = await read(log, 100, { maxFacts: 20_000, fill: true });
  expect(Math.max(...batches.map(({ length }) => length))).toBe(9);
  expect(batches.flat()).toEqual(upTo(100));
});

test('readAhead gives everything before an error first, and ends with its signal', async () => {
  const log = logOf(10, 3);
  log.poison = 8;
  const seen: number[] = [];
  const reading = async (signal: AbortSignal) => {
    const batches = readAhead(log, { stream: 'NODES', after: 0 }, { maxFacts: 100, fill: true, signal });
    for await (const { facts } of batches) seen.push(...facts.map(({ sequence }) => sequence));
  };
  await expect(reading(new AbortController().signal)).rejects.toMatchObject({ sequence: 8 });
  expect(seen).toEqual(upTo(7));
  await reading(AbortSignal.abort());
});
