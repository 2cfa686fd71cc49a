import { expect, test } from 'vitest';
import { readUpTo } from '../../../src/engine/models/build/load.ts';
import { nodeFacts } from '../../support/histories/facts.ts';
import { appendFacts, freshLog } from '../log/fresh-log.ts';

test('readUpTo fails where the last events of a stream are gone, and does not wait for them', async () => {
  const { log } = await freshLog();
  await appendFacts(log, [nodeFacts('one').listed(), nodeFacts('two').listed()]);
  const now = await log.head('NODES');
  // As it was read when the stream had one more.
  const head = { ...now, lastSequence: now.lastSequence + 1 };
  const seen: number[] = [];
  const { signal } = new AbortController();
  const reading = { source: log, stream: 'NODES', head, count: () => 0, signal, longestSilenceMs: 200 } as const;
  const read = readUpTo(reading, async (facts) => void seen.push(...facts.map(({ sequence }) => sequence)));
  await expect(read).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(seen).toEqual([1, 2]);
});
