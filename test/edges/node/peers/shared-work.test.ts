import { expect, it } from 'vitest';
import { createSharedWork } from '../../../../src/edges/node/peers/shared-work.ts';

const never = new AbortController().signal;

/** Shared work under one key that ends as the test says, and the signals that it was begun with. */
function begun() {
  const shared = createSharedWork<string>();
  const results: PromiseWithResolvers<string>[] = [];
  const signals: AbortSignal[] = [];
  const request = async (signal: AbortSignal = never): Promise<string> =>
    await shared('a', signal, async (all) => {
      signals.push(all);
      const result = Promise.withResolvers<string>();
      results.push(result);
      return await result.promise;
    });
  return { shared, request, results, signals };
}

it('has one result for all who come while it runs, and is done anew for who comes later', async () => {
  const { request, results, shared } = begun();
  const both = [request(), request()];
  expect(await shared('b', never, async () => 'of another key')).toBe('of another key');
  results[0]?.resolve('first');
  expect(await Promise.all(both)).toEqual(['first', 'first']);
  const later = request();
  results[1]?.resolve('second');
  expect(await later).toBe('second');
});

it('fails for all who wait, and is done anew afterwards', async () => {
  const { request, results } = begun();
  const both = Promise.allSettled([request(), request()]);
  results[0]?.reject(new Error('no disk'));
  expect((await both).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  const later = request();
  results[1]?.resolve('second');
  expect(await later).toBe('second');
});

it('goes on while somebody waits, and is ended by the last who leaves', async () => {
  const { request, results, signals } = begun();
  const [one, other] = [new AbortController(), new AbortController()];
  const [first, second] = [request(one.signal), request(other.signal)];
  one.abort(new Error('gone'));
  await expect(first).rejects.toThrow('gone');
  expect(signals[0]?.aborted).toBe(false);
  other.abort(new Error('gone, too'));
  await expect(second).rejects.toThrow('gone, too');
  expect(signals[0]?.aborted).toBe(true);
  // It may take a while to end: who comes now does not get what was given up.
  const third = request();
  results[0]?.reject(new Error('ended'));
  results[1]?.resolve('anew');
  expect(await third).toBe('anew');
  await expect(request(one.signal)).rejects.toThrow('gone');
  expect(signals.length).toBe(2);
});
