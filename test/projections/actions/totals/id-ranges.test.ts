import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Heights, idRangesWithin, type Ids } from '../../../../src/projections/actions/totals/id-ranges.ts';
import {
  blockOf,
  extentOf,
  heightCounters,
  idsPerBlock,
} from '../../../../src/projections/actions/totals/height-extents.ts';
import type { Extent } from '../../../../src/projections/actions/totals/extent-groups.ts';
import { actions } from '../../../../src/projections/actions/actions.ts';
import { actionFacts } from '../../../support/histories/facts.ts';
import { rowsOf } from '../../../support/histories/load-projection.ts';

const [row] = rowsOf(actions, [actionFacts('1').registered()]);
if (!row) throw new Error('A registered action has a row');

/** The extents of a step that the counters of rows tell of, by block. */
function extentsIn(rows: readonly (typeof row)[], step: string): Extent[] {
  const counters = rows.flatMap((one) => (one ? heightCounters.counts(one) : [])).filter((one) => one['step'] === step);
  const blocks = [...Map.groupBy(counters, ({ block }) => String(block))].map(([block, own]) => {
    const cells = own.map(({ cell }) => Number(cell));
    const known = cells.filter((cell) => cell >= 0);
    const low = known.length > 0 ? Math.min(...known) : null;
    return extentOf({ block, low, high: Math.max(...cells), hasUnknown: known.length < cells.length });
  });
  return blocks.toSorted((a, b) => Number(a.block - b.block));
}

const idsPer = BigInt(idsPerBlock);
const idsIn = (block: bigint) => ({ low: String(block * idsPer), high: String((block + 1n) * idsPer) });
const height = fc.integer({ min: 0, max: 400_000 });
/** Mostly rising with the ids, as on a chain; some are anywhere, some unknown. */
const found = fc.array(
  fc.tuple(fc.oneof({ weight: 9, arbitrary: fc.nat(3000) }, { weight: 1, arbitrary: height }), fc.nat(9)),
  {
    minLength: 1,
    maxLength: 120,
  },
);
const range = fc
  .tuple(height, fc.option(height, { nil: Infinity }))
  .map(([a, b]) => ({ from: Math.min(a, b), to: Math.max(a, b) }));

it('idRangesWithin have each action that fits once, whole groups without any that does not', () => {
  fc.assert(
    fc.property(found, range, range, fc.constantFrom(1, 4), (list, registered, finalized, span) => {
      const rows = list.map(([more, luck], at) => {
        const rising = more > 3000 ? more : at * 3500 + more;
        const own = luck === 0 ? null : rising;
        const finalize_tx = luck === 1 || own === null ? null : { tx_hash: null, height: own + luck * 900 };
        return { ...row, id: String(BigInt(at) * (idsPer / 2n)), height: own, finalize_tx, accounts: ['a'] };
      });
      const asked = [
        { extents: extentsIn(rows, 'registered'), heights: registered, unknownIsLast: false },
        { extents: extentsIn(rows, 'finalized'), heights: finalized, unknownIsLast: true },
      ];
      const { ids, whole, inner, parts } = idRangesWithin(asked, span);
      const isIn = (one: number, { from, to }: Heights) => one >= from && one <= to;
      for (const one of rows) {
        const at = one.finalize_tx?.height ?? one.height ?? Infinity;
        const fits = one.height !== null && isIn(one.height, registered) && isIn(at, finalized);
        const block = BigInt(blockOf(one.id));
        const holding = whole.filter(({ first, last }) => block >= first && block <= last).length;
        const among = (all: readonly Ids[]) =>
          all.filter(({ low, high }) => BigInt(one.id) >= BigInt(low) && BigInt(one.id) < BigInt(high)).length;
        if (fits) expect(holding + among(inner) + among(parts)).toBe(1);
        if (fits) expect(BigInt(one.id) >= BigInt(ids.low) && BigInt(one.id) < BigInt(ids.high)).toBe(true);
        if (!fits) expect(holding + among(inner)).toBe(0);
      }
    }),
  );
});

it('idRangesWithin have whole groups where ids and heights rise together', () => {
  const rows = Array.from({ length: 40 }, (_, at) => ({
    ...row,
    id: String(BigInt(at) * idsPer),
    height: at * 40_000,
  }));
  const extents = extentsIn(rows, 'registered');
  const asked = { extents, heights: { from: 121_000, to: 1_000_000 }, unknownIsLast: false };
  const { ids, whole, parts } = idRangesWithin([asked], 1);
  expect(whole).toEqual([{ first: 4n, last: 24n }]);
  expect(parts).toEqual([3n, 25n].map(idsIn));
  expect(ids).toEqual({ low: idsIn(3n).low, high: idsIn(25n).high });
});
