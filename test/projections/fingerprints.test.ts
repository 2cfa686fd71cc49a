import { readFileSync } from 'node:fs';
import { describe, expect, it, test } from 'vitest';
import { fingerprintOf } from '../../src/engine/models/engine/fingerprint.ts';
import { foldingOf } from '../../src/engine/models/engine/folding.ts';
import { actions } from '../../src/projections/actions/actions.ts';
import { type AnyProjection, projections } from '../../src/projections/all.ts';
import type { ActionRow } from '../../src/projections/tables.ts';
import { handlersOf } from '../support/histories/load-projection.ts';

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
  const handlers = handlersOf(actions);
  const differs = (changed: Partial<AnyProjection>) => expect(of({ ...actions, ...changed })).not.toBe(of(actions));

  it('is the same for other words of the same behaviour', () => {
    const reworded: typeof actions = {
      ...actions,
      version: 99,
      on: {
        ...on,
        ActionExpired: (data) => {
          const { action: key } = data;
          return [{ key, next: (row) => handlers.ActionExpired(row, data) }];
        },
      },
    };
    expect(of(reworded)).toBe(of(actions));
  });

  it('is another one for every handler that behaves in another way', () => {
    for (const type of Object.keys(on)) {
      const key = ({ action }: { action: string }) => action;
      differs({ on: { ...on, [type]: 'ignored' } });
      differs({ on: { ...on, [type]: (data: { action: string }) => [{ key: key(data), next: () => null }] } });
      const same = (row: unknown) => row ?? null;
      differs({ on: { ...on, [type]: (data: { action: string }) => [{ key: key(data), next: same }] } });
    }
  });

  it('is another one where a fact is refused that was not, or taken that was not', () => {
    const refuse = () => {
      throw new Error('no');
    };
    differs({ on: { ...on, ActionStateObserved: refuse } });
    const lenient: typeof on.ActionRegistered = (data) => [
      { key: data.action, next: (row) => (row ? { ...row } : handlers.ActionRegistered(row, data)) },
    ];
    differs({ on: { ...on, ActionRegistered: lenient } });
  });

  it('is another one for other derived rows, counters, columns or indexes', () => {
    differs({ derived: (row: ActionRow) => actions.derived?.(row).slice(1) ?? [] });
    differs({ counters: actions.counters?.slice(1) ?? [] });
    differs({
      counters:
        actions.counters?.map(({ table, counts }) => ({ table, counts: (row: ActionRow) => counts(row).slice(1) })) ??
        [],
    });
    differs({ table: { ...actions.table, indexes: [] } });
    differs({ table: { ...actions.table, columns: { ...actions.table.columns, more: 'text' } } });
  });
});
