import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bucketNames, splitHeights, splitTimes } from '../../src/projections/buckets.ts';
import { actions } from '../../src/projections/actions.ts';
import { actionFacts, timeOf } from '../support/facts.ts';
import { rowsOf } from '../support/load-projection.ts';

const [row] = rowsOf(actions, [actionFacts('1').registered()]);
if (!row) throw new Error('A registered action has a row');
const hold = ([from, until]: readonly [string, string], name = '') => name >= from && name < until;
const heights = fc.integer({ min: 0, max: 80_000 });
const bound = fc.option(heights, { nil: undefined });

describe('bucketNames', () => {
  it('have one bucket for the height and one for the day, none where they are unknown', () => {
    const at = { height: 20_000, created_at: '2026-01-31T23:59:59Z' };
    expect(bucketNames({ ...row, ...at })).toEqual([
      'height:000001,type:cascade,status:registered',
      'day:2026-01-31,type:cascade,status:registered',
    ]);
    expect(bucketNames({ ...row, height: null, created_at: null })).toEqual([]);
  });
});

describe('splitHeights', () => {
  it('has each height of a range in its buckets or in one edge, and no other height', () => {
    fc.assert(
      fc.property(bound, bound, heights, (fromHeight, toHeight, height) => {
        const { buckets, edges } = splitHeights(fromHeight, toHeight);
        const [name] = bucketNames({ ...row, height, created_at: null });
        const isIn = (from = 0, to = Infinity) => height >= from && height <= to;
        const parts = [hold(buckets, name), ...edges.map((edge) => isIn(edge.fromHeight, edge.toHeight))];
        expect(parts.filter(Boolean)).toHaveLength(isIn(fromHeight, toHeight) ? 1 : 0);
      }),
    );
  });
});

describe('splitTimes', () => {
  it('has each time of a window in its days or in one edge, and no other time', () => {
    fc.assert(
      fc.property(bound, bound, heights, (from, to, height) => {
        const created_at = timeOf(height);
        const [fromTime, toTime] = [from, to].map((one) => (one === undefined ? undefined : timeOf(one)));
        const { buckets, edges } = splitTimes(fromTime, toTime);
        const [name] = bucketNames({ ...row, height: null, created_at });
        const isIn = (first = '', last = '~') => created_at >= first && created_at <= last;
        const parts = [hold(buckets, name), ...edges.map((edge) => isIn(edge.from, edge.to))];
        expect(parts.filter(Boolean)).toHaveLength(isIn(fromTime, toTime) ? 1 : 0);
      }),
    );
  });
});
