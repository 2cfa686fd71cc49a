import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { packOpen, unpackOpen } from '../../../src/commands/sync/open-actions.ts';

const start = Date.UTC(2026, 10, 21) / 1000;
const at = (seconds: number): string => new Date((start + seconds) * 1000).toISOString().replace('.000Z', 'Z');
const byId = (open: ReadonlyMap<string, string>): Record<string, string> => Object.fromEntries(open);
/** As a chain makes them: ids one after another, a block every 6 s, each action open for the same time. */
const asChainsMake = (count: number): Map<string, string> =>
  new Map(Array.from({ length: count }, (_, index) => [String(10_000 + index), at(Math.floor(index / 2) * 6)]));

describe('packOpen', () => {
  it('writes each action as its distance to the one that expires before it', () => {
    const open = new Map([
      ['10', at(60)],
      ['7', at(0)],
      ['8', at(6)],
      ['9', at(6)],
    ]);
    expect(packOpen(open)).toEqual({ entries: `${start}:7 6 0 54` });
  });

  it('loses nothing, whatever the ids and the times', () => {
    const action = fc.bigInt({ min: 1n, max: 10n ** 78n - 1n }).map(String);
    const expiry = fc.integer({ min: -start + 1, max: 253_402_300_799 - start }).map(at);
    fc.assert(
      fc.property(fc.array(fc.tuple(action, expiry)), (entries) => {
        const open = new Map(entries);
        const packed = packOpen(open);
        expect(byId(unpackOpen(packed))).toEqual(byId(open));
        expect(packed.completeUntil).toBeUndefined();
      }),
    );
  });

  it('takes less than four bytes an action as a chain makes them', () => {
    const open = asChainsMake(50_000);
    expect(packOpen(open).entries.length / open.size).toBeLessThan(4);
    expect(unpackOpen(packOpen(open)).size).toBe(open.size);
  });

  it('keeps those that expire first where not all fit, and says from when on some are missing', () => {
    const open = asChainsMake(1_000);
    const packed = packOpen(open, { most: 200 });
    const kept = [...unpackOpen(packed).values()];
    const left = [...open.values()].toSorted().slice(kept.length);
    expect(packed.entries.length).toBeLessThanOrEqual(200);
    expect(kept.length).toBeGreaterThan(60);
    expect(kept).toEqual([...open.values()].toSorted().slice(0, kept.length));
    expect(packed.completeUntil).toBe(left[0]);
  });

  it('is bounded well below what a message may hold, however many there are', () => {
    const { entries, completeUntil } = packOpen(asChainsMake(200_000));
    expect(entries.length).toBeLessThan(300_000);
    expect(completeUntil).toBeDefined();
  });

  it('still says what was missing before, where all that is known fits', () => {
    const open = asChainsMake(3);
    expect(packOpen(open, { completeUntil: at(3_000) }).completeUntil).toBe(at(3_000));
    expect(packOpen(asChainsMake(1_000), { completeUntil: at(3_000), most: 20 }).completeUntil).toBe(at(6));
  });
});
