import { readFileSync } from 'node:fs';
import { describe, expect, it, test } from 'vitest';
import { fingerprintOf } from '../../src/edges/models/engine/fingerprint.ts';
import { foldingOf } from '../../src/edges/models/engine/folding.ts';
import { actions } from '../../src/projections/actions/actions.ts';
import { type AnyProjection, projections } from '../../src/projections/all.ts';

/** By projection and version; what stands there once is never changed. */
const recorded = JSON.parse(
  readFileSync(new URL('../fixtures/projection-fingerprints.json', import.meta.url), 'utf8'),
) as Record<string, Record<string, string>>;

const of = (projection: AnyProjection): string => fingerprintOf(foldingOf(projection));

test.each(projections.map((projection) => [projection.name, projection] as const))(
  '%s behaves as the first of its version did: else raise the version, and add its fingerprint to the fixture',
  (name, projection) => {
    expect({ [projection.version]: of(projection) }).toEqual({
      [projection.version]: recorded[name]?.[projection.version],
    });
  },
);

describe('fingerprintOf', () => {
  const { on } = actions;
  const differs = (changed: Partial<typeof actions>) => expect(of({ ...actions, ...changed })).not.toBe(of(actions));

  it('is the same for other words of the same behaviour', () => {
    const reworded: typeof actions = {
      ...actions,
      version: 99,
      key: ({ data: { action } }) => action,
      on: {
        ...on,
        ActionExpired: (row, data) => ({ ...on.ActionExpired(row, data) }) as ReturnType<typeof on.ActionExpired>,
      },
    };
    expect(of(reworded)).toBe(of(actions));
  });

  it('is another one for every handler that behaves in another way', () => {
    for (const type of Object.keys(on)) {
      differs({ on: { ...on, [type]: () => null } });
      differs({ on: { ...on, [type]: (row: unknown) => row ?? null } });
    }
  });

  it('is another one where a fact is refused that was not, or taken that was not', () => {
    const refuse = () => {
      throw new Error('no');
    };
    differs({ on: { ...on, ActionStateObserved: refuse } });
    differs({
      on: {
        ...on,
        ActionRegistered: (row, data) => (row ? { ...row } : on.ActionRegistered(row, data)),
      },
    });
  });

  it('is another one for other derived rows, counters, columns or indexes', () => {
    differs({ derived: (row) => actions.derived?.(row).slice(1) ?? [] });
    differs({ counters: actions.counters?.slice(1) ?? [] });
    differs({
      counters: actions.counters?.map(({ table, counts }) => ({ table, counts: (row) => counts(row).slice(1) })) ?? [],
    });
    differs({ table: { ...actions.table, indexes: [] } });
    differs({ table: { ...actions.table, columns: { ...actions.table.columns, more: 'text' } } });
  });
});
