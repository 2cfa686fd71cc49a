import fc from 'fast-check';
import { expect, it } from 'vitest';
import { actions } from '../../../../src/projections/actions/actions.ts';
import { idsPerBlock } from '../../../../src/projections/actions/totals/height-extents.ts';
import {
  blocksPerGroup,
  type Scope,
  talliesOf,
  tallyNames,
} from '../../../../src/projections/actions/totals/block-counters.ts';
import { actionFacts } from '../../../support/facts.ts';
import { rowsOf } from '../../../support/load-projection.ts';

const account = 'account:lumera1account';
const [row] = rowsOf(actions, [
  actionFacts('1').registered(),
  actionFacts('1').finalized({ accounts: ['lumera1account'] }),
]);
if (!row) throw new Error('A finalized action has a row');

it('talliesOf names one counter of each action in the groups, and none of any other', () => {
  const group = fc.bigInt({ min: 0n, max: 900n });
  fc.assert(
    fc.property(fc.constantFrom<Scope>('all', account), group, group, group, (scope, a, b, at) => {
      const [first, last] = a < b ? [a, b] : [b, a];
      const ranges = talliesOf(scope, { first, last });
      const id = String(at * blocksPerGroup(scope) * idsPerBlock + 5n);
      const within = tallyNames({ ...row, id }).filter((name) =>
        ranges.some(({ from, until }) => name >= from && name < until),
      );
      expect(within).toHaveLength(at >= first && at <= last ? 1 : 0);
    }),
    { numRuns: 2000 },
  );
});

it('talliesOf names few counters for many blocks of all actions', () => {
  expect(talliesOf('all', { first: 3n, last: 900n })).toEqual([
    { from: 'all,013', until: 'all,0215-' },
    { from: 'all16,011', until: 'all16,0255-' },
    { from: 'all,03896', until: 'all,03900-' },
  ]);
});
