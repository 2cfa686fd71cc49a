import { expect, it } from 'vitest';
import { AppError } from '../../src/kit/errors.ts';
import { poll, repeat } from '../../src/kit/repeat.ts';
import { silent } from '../engine/models/engine.ts';

const never = new AbortController().signal;

it('repeat runs until a run says that it is done, and a failure does not end it', async () => {
  const runs: number[] = [];
  const work = async (): Promise<'done' | void> => {
    runs.push(runs.length);
    if (runs.length === 2) throw new Error('once');
    if (runs.length === 4) return 'done';
  };
  await repeat('a run failed', work, { everyMs: 1, jitter: 0.5, log: silent, signal: never });
  expect(runs).toHaveLength(4);
});

it('repeat rejects with a failure that does not pass, and not once the signal has aborted', async () => {
  const fail = async (): Promise<void> => {
    throw new AppError('CONFLICT', 'no way on');
  };
  const how = { everyMs: 1, isPassing: () => false };
  await expect(repeat('a run failed', fail, { ...how, signal: never })).rejects.toMatchObject({ code: 'CONFLICT' });
  const ending = new AbortController();
  const endAndFail = async (): Promise<void> => {
    ending.abort();
    await fail();
  };
  await repeat('a run failed', endAndFail, { ...how, signal: ending.signal });
});

it('repeat ends in the middle of a pause, before the first run included', async () => {
  const ending = new AbortController();
  let runs = 0;
  const running = repeat('', async () => void runs++, { everyMs: 1, firstMs: 3_600_000, signal: ending.signal });
  ending.abort();
  await running;
  expect(runs).toBe(0);
});

it('poll gives what is read once there is something, and nothing when the time is over or the signal aborts', async () => {
  let reads = 0;
  expect(await poll(() => (++reads < 3 ? undefined : reads), { everyMs: 1 })).toBe(3);
  expect(await poll(() => undefined, { everyMs: 1, withinMs: 5 })).toBeUndefined();
  expect(await poll(() => 1, { everyMs: 1, signal: AbortSignal.abort() })).toBeUndefined();
});
