import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bucketNames, splitTimes } from '../../../../src/projections/actions/totals/buckets.ts';
import { actions } from '../../../../src/projections/actions/actions.ts';
import { actionFacts, timeOf } from '../../../support/facts.ts';
import type { Names } from '../../../../src/projections/actions/totals/block-counters.ts';
import { rowsOf } from '../../../support/load-projection.ts';

const [row] = rowsOf(actions, [actionFacts('1').registered()]);
if (!row) throw new Error('A registered action has a row');
const holding = (buckets: readonly Names[], names: readonly string[]) =>
  names.flatMap((name) => buckets.filter(({ from, until }) => name >= from && name < until));
const heights = fc.integer({ min: 0, max: 300_000 });
const bound = fc.option(heights, { nil: undefined });

describe('bucketNames', () => {
  it('have one bucket for the day and one for the month, none where the time is unknown', () => {
    expect(bucketNames({ ...row, created_at: '2026-01-31T23:59:59Z' })).toEqual([
      'day:2026-01-31,type:cascade,status:registered',
      'month:2026-01,type:cascade,status:registered',
    ]);
    expect(bucketNames({ ...row, created_at: null })).toEqual([]);
  });
});

describe('splitTimes', () => {
  it('has each time of a window in its days or in one edge, and no other time', () => {
    fc.assert(
      fc.property(bound, bound, heights, (from, to, height) => {
        const created_at = timeOf(height);
        const [fromTime, toTime] = [from, to].map((one) => (one === undefined ? undefined : timeOf(one)));
        const { buckets, edges } = splitTimes(fromTime, toTime);
        const names = bucketNames({ ...row, created_at });
        const isIn = (first = '', last = '~') => created_at >= first && created_at <= last;
        const parts = [...holding(buckets, names), ...edges.filter((edge) => isIn(edge.from, edge.to))];
        expect(parts).toHaveLength(isIn(fromTime, toTime) ? 1 : 0);
      }),
    );
  });
});
