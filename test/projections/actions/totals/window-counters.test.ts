import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { actions } from '../../../../src/projections/actions/actions.ts';
import { splitWindow, windowCounters } from '../../../../src/projections/actions/totals/window-counters.ts';
import { actionFacts, timeOf } from '../../../support/histories/facts.ts';
import { rowsOf } from '../../../support/histories/load-projection.ts';

const [row] = rowsOf(actions, [actionFacts('1').registered()]);
if (!row) throw new Error('A registered action has a row');
const countersAt = (created_at: string | null) => windowCounters.counts({ ...row, created_at });
const heights = fc.integer({ min: 0, max: 300_000 });
const bound = fc.option(heights, { nil: undefined });

describe('windowCounters', () => {
  it('count in the day and the month, only among all where the time is unknown', () => {
    const common = { kind: 'r', expired: false, n: 1 };
    const all = { unit: 'all', period: '-', ...common };
    expect(countersAt('2026-01-31T23:59:59Z')).toEqual([
      all,
      { unit: 'month', period: '2026-01', ...common },
      { unit: 'day', period: '2026-01-31', ...common },
    ]);
    expect(countersAt(null)).toEqual([all]);
  });
});

describe('splitWindow', () => {
  it('has each time of a window in its periods or in one edge, and no other time', () => {
    fc.assert(
      fc.property(bound, bound, heights, (from, to, height) => {
        const created_at = timeOf(height);
        const [fromTime, toTime] = [from, to].map((one) => (one === undefined ? undefined : timeOf(one)));
        const { periods, edges } = splitWindow(fromTime, toTime);
        const isIn = (first = '', last = '~') => created_at >= first && created_at <= last;
        const counters = countersAt(created_at).flatMap(({ unit, period }) =>
          periods.filter((one) => one.unit === unit && String(period) > one.after && String(period) < one.before),
        );
        const parts = [...counters, ...edges.filter((edge) => isIn(edge.from, edge.to))];
        expect(parts).toHaveLength(isIn(fromTime, toTime) ? 1 : 0);
      }),
    );
  });
});
