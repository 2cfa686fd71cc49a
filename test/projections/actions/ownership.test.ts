import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ownedIn } from '../../../src/projections/actions/ownership.ts';
import { periods, supernodes } from '../../../src/projections/fleet/supernodes.ts';
import { ownerOf } from '../../support/expected/brute-force.ts';
import { nodeFacts } from '../../support/histories/facts.ts';
import { rowsOf } from '../../support/histories/load-projection.ts';

const history = fc
  .array(fc.record({ account: fc.constantFrom('a', 'b', 'c'), height: fc.nat(30) }), { minLength: 1, maxLength: 4 })
  .map((entries) => entries.toSorted((one, other) => one.height - other.height));

it('ownedIn tells the owner of every account at every height, and of unknown ones who has it now', () => {
  fc.assert(
    fc.property(fc.array(history, { maxLength: 4 }), (histories) => {
      const nodes = rowsOf(
        supernodes,
        histories.map((accounts, at) => nodeFacts(`op${at}`).listed({ accounts })),
      );
      const owned = ownedIn(nodes.flatMap(periods));
      for (const account of ['a', 'b', 'c']) {
        for (const height of [...Array(33).keys(), null]) {
          const at = height ?? Infinity;
          const owners = owned.filter((one) => one.account === account && one.from <= at && one.to >= at);
          expect(owners.map(({ operator }) => operator)).toEqual(
            [ownerOf(nodes, account, height)].filter((one) => one !== undefined),
          );
        }
      }
    }),
  );
});
