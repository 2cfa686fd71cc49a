import { describe, expect, it } from 'vitest';
import { kindsIn } from '../../../src/projections/actions/kinds.ts';

describe('kindsIn', () => {
  it('has a letter of its own for each type and state', () => {
    expect(new Set(kindsIn({})).size).toBe(6);
    expect(kindsIn({ type: 'sense', state: 'approved' })).toEqual(['A']);
  });

  it('has no letter, but a place, for a type or a state that there is none of', () => {
    expect(kindsIn({ type: 'other' })).toEqual([null, null, null]);
    expect(kindsIn({ state: 'other' })).toEqual([null, null]);
  });
});
