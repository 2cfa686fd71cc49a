import { expect, test } from 'vitest';
import {
  brakes,
  decide,
  findingOf,
  type Grounds,
  type ScrubReport,
  streamStates,
} from '../../../src/engine/archive/states.ts';

const hourMs = 3_600_000;
const report = (change: Partial<ScrubReport> = {}): ScrubReport => ({
  stream: 'ACTIONS',
  state: 'short',
  events: 9,
  position: 10,
  inStream: [{ first: 10, last: 10 }],
  inArchive: [],
  inBoth: [],
  tiles: [],
  foreign: [],
  ...change,
});
const grounds = (change: Partial<Grounds> = {}): Grounds => ({
  policy: { restore: 'itself' },
  brakes,
  now: 50_000,
  ...change,
});
const seenAt = (at: number, one = report()) => ({ finding: findingOf(one), at });

test('a damaged stream is restored once the same was found twice, ten seconds apart', () => {
  expect(decide(report(), grounds())).toEqual({ kind: 'observe again', afterMs: 10_000, since: seenAt(50_000) });
  expect(decide(report(), grounds({ before: seenAt(43_000) }))).toEqual({
    kind: 'observe again',
    afterMs: 3_000,
    since: seenAt(43_000),
  });
  expect(decide(report(), grounds({ before: seenAt(40_000) }))).toEqual({ kind: 'restore' });
});

test('another finding begins the wait anew, and one that only the log has outgrown does not', () => {
  const before = seenAt(10_000);
  const other = report({ inStream: [{ first: 9, last: 10 }] });
  expect(decide(other, grounds({ before }))).toMatchObject({ kind: 'observe again', afterMs: 10_000 });
  expect(decide(report({ events: 90, position: 99 }), grounds({ before }))).toEqual({ kind: 'restore' });
});

test('a stream is restored once an hour at most, then an operator is asked', () => {
  const before = seenAt(0);
  expect(decide(report(), grounds({ before, restoredMsAgo: hourMs - 1 }))).toMatchObject({
    kind: 'ask',
    why: expect.stringContaining('annals repair'),
  });
  expect(decide(report(), grounds({ before, restoredMsAgo: hourMs }))).toEqual({ kind: 'restore' });
  expect(decide(report(), grounds({ before, restoredMsAgo: null }))).toEqual({ kind: 'restore' });
});

test('where nothing is deleted a stream is restored at once, where both copies may be wanted never, and where the policy says so never', () => {
  const now = Object.entries(streamStates).flatMap(([state, { repair }]) => (repair === 'nothing more' ? [state] : []));
  expect(now).toEqual(['missing', 'restoring']);
  expect(decide(report({ state: 'missing' }), grounds())).toEqual({ kind: 'restore' });
  expect(decide(report({ state: 'replaced' }), grounds({ before: seenAt(0) }))).toMatchObject({ kind: 'ask' });
  const policy = { restore: 'operator' } as const;
  expect(decide(report({ state: 'missing' }), grounds({ policy }))).toMatchObject({ kind: 'ask' });
});
