import fc from 'fast-check';
import { expect, it } from 'vitest';
import { actions } from '../../../../src/projections/actions/actions.ts';
import {
  blockCounters,
  counterRanges,
  type CounterScope,
  smallestSpan,
} from '../../../../src/projections/actions/totals/block-counters.ts';
import { idsPerBlock } from '../../../../src/projections/actions/totals/height-extents.ts';
import { actionFacts } from '../../../support/histories/facts.ts';
import { rowsOf } from '../../../support/histories/load-projection.ts';

const all: CounterScope = { scope: 'all', address: '' };
const account: CounterScope = { scope: 'account', address: 'lumera1account' };
const [row] = rowsOf(actions, [
  actionFacts('1').registered(),
  actionFacts('1').finalized({ accounts: ['lumera1account'] }),
]);
if (!row) throw new Error('A finalized action has a row');

it('counterRanges have one counter of each action in the blocks, and none of any other', () => {
  const group = fc.bigInt({ min: 0n, max: 900n });
  fc.assert(
    fc.property(fc.constantFrom(all, account), group, group, group, (scope, a, b, at) => {
      const span = BigInt(smallestSpan(scope));
      const [low, high] = a < b ? [a, b] : [b, a];
      const ranges = counterRanges(scope, { first: low * span, last: (high + 1n) * span - 1n });
      const counts = blockCounters.counts({ ...row, id: String(at * span * BigInt(idsPerBlock) + 5n) });
      const within = ranges.flatMap(({ first, last, ...range }) =>
        counts
          .filter(({ block }) => BigInt(String(block)) >= first && BigInt(String(block)) <= last)
          .filter((values) => Object.entries(range).every(([column, cell]) => values[column] === cell)),
      );
      expect(within).toHaveLength(at >= low && at <= high ? 1 : 0);
    }),
    { numRuns: 2000 },
  );
});

it('counterRanges have few counters for many blocks of all actions', () => {
  expect(counterRanges(all, { first: 3n, last: 900n })).toEqual([
    { ...all, span: 1, first: 3n, last: 15n },
    { ...all, span: 16, first: 16n, last: 895n },
    { ...all, span: 1, first: 896n, last: 900n },
  ]);
});
