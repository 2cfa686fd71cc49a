import { describe, expect, it } from 'vitest';
import { createSnapshot } from '../../../src/edges/node/status/snapshot.ts';

/** A snapshot of a counter whose collections are let go by hand, on a clock that is set by hand. */
function counted(firstMs = 60_000) {
  const clock = { nowMs: 0 };
  const waiting: PromiseWithResolvers<number>[] = [];
  const collect = (): Promise<number> => {
    const collection = Promise.withResolvers<number>();
    waiting.push(collection);
    return collection.promise;
  };
  const ages = { freshMs: 30, lastGoodMs: 600, firstMs };
  return { clock, waiting, get: createSnapshot(collect, ages, () => clock.nowMs) };
}

const settled = async () => await new Promise((resolve) => setImmediate(resolve));

describe('createSnapshot', () => {
  it(
    'collects once for all who wait for the first, and gives it while it is fresh',
    { tags: ['S1.p2p.snapshot'] },
    async () => {
      const { get, waiting, clock } = counted();
      const all = [get(), get(), get()];
      waiting[0]?.resolve(1);
      expect(await Promise.all(all)).toEqual([1, 1, 1]);
      clock.nowMs = 29;
      expect([await get(), waiting.length]).toEqual([1, 1]);
    },
  );

  it(
    'gives the last good one at once when it is older, and collects behind it',
    { tags: ['S1.p2p.snapshot'] },
    async () => {
      const { get, waiting, clock } = counted();
      const first = get();
      waiting[0]?.resolve(1);
      await first;
      clock.nowMs = 30;
      expect([await get(), await get(), waiting.length]).toEqual([1, 1, 2]);
      waiting[1]?.resolve(2);
      await settled();
      expect(await get()).toBe(2);
    },
  );

  it('gives the last good one while collecting fails, until it is too old', { tags: ['S1.p2p.snapshot'] }, async () => {
    const { get, waiting, clock } = counted();
    const first = get();
    waiting[0]?.resolve(1);
    await first;
    clock.nowMs = 599;
    expect(await get()).toBe(1);
    waiting[1]?.reject(new Error('no disk'));
    await settled();
    clock.nowMs = 600;
    const late = get();
    waiting[2]?.reject(new Error('no disk'));
    expect(await late).toBe(undefined);
  });

  it('gives nothing when the first takes longer than a caller waits', { tags: ['S1.p2p.snapshot'] }, async () => {
    expect(await counted(1).get()).toBe(undefined);
  });
});
