import { afterEach, describe, expect, it } from 'vitest';
import { createWorkerPool, runInWorker, type WorkerPool } from '../../../src/kit/threads/worker.ts';
import type * as sample from '../sample-thread.ts';

type Sample = typeof sample;

const how = { name: 'sample', module: new URL('../sample-thread.ts', import.meta.url) };
const pools: WorkerPool<Sample>[] = [];

function poolOf(size: number): WorkerPool<Sample> {
  const pool = createWorkerPool<Sample>({ ...how, size });
  pools.push(pool);
  return pool;
}

afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()));
});

describe('runInWorker', () => {
  it('runs a task of a TypeScript module in another thread and tells its progress in order', async () => {
    const told: number[] = [];
    const onProgress = ({ soFar }: { soFar: number }): void => void told.push(soFar);
    expect(await runInWorker<Sample, 'sum'>(how, 'sum', [1, 2, 3], { onProgress })).toBe(6);
    expect(told).toEqual([1, 3, 6]);
    expect(await runInWorker<Sample, 'where'>(how, 'where', undefined)).not.toBe(0);
  });

  it('rejects with the code of the task, and with INTERNAL and the place for what is no error of ours', async () => {
    await expect(runInWorker<Sample, 'refuse'>(how, 'refuse', 'taken')).rejects.toMatchObject({
      name: 'AppError',
      code: 'CONFLICT',
      message: 'taken',
    });
    const failure: unknown = await runInWorker<Sample, 'stumble'>(how, 'stumble', undefined).catch(
      (caught: unknown) => caught,
    );
    expect(failure).toMatchObject({ code: 'INTERNAL', message: 'no such thing' });
    expect(failure).toHaveProperty('cause.stack', expect.stringContaining('sample-thread.ts'));
  });

  it('rejects with UNAVAILABLE where a rejection that passes ended the thread, for nothing handled it', async () => {
    await expect(runInWorker<Sample, 'abandon'>(how, 'abandon', undefined)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('away for now'),
    });
  });

  it('rejects when the module cannot be loaded', async () => {
    const nowhere = { ...how, module: new URL('no-such-thread.ts', import.meta.url) };
    await expect(runInWorker<Sample, 'where'>(nowhere, 'where', undefined)).rejects.toMatchObject({ code: 'INTERNAL' });
  });

  it('rejects when its thread ends, and when it needs more memory than it may', async () => {
    await expect(runInWorker<Sample, 'crash'>(how, 'crash', 7)).rejects.toThrow('ended with code 7');
    await expect(runInWorker<Sample, 'devour'>({ ...how, memoryMb: 16 }, 'devour', undefined)).rejects.toThrow(
      'more than its 16 MB',
    );
  });

  it('hands memory over where it is asked to', async () => {
    const bytes = new ArrayBuffer(1_000);
    expect(await runInWorker<Sample, 'weigh'>(how, 'weigh', bytes, { transfer: [bytes] })).toBe(1_000);
    expect(bytes.byteLength).toBe(0);
  });

  it('starts its thread with flags of its own, whatever the process was started with', async () => {
    expect(await runInWorker<Sample, 'flags'>(how, 'flags', undefined)).toEqual([
      '--disable-warning=ExperimentalWarning',
    ]);
  });
});

describe('a call that is cancelled', () => {
  it('tells the task to stop and rejects once it has', async () => {
    const stop = new AbortController();
    const flag = new Int32Array(new SharedArrayBuffer(4));
    const options = { signal: stop.signal, onProgress: () => stop.abort() };
    await expect(runInWorker<Sample, 'linger'>(how, 'linger', flag, options)).rejects.toMatchObject({
      code: 'CANCELLED',
    });
    expect(flag[0]).toBe(1);
  });

  it('ends the thread of a task that does not listen', async () => {
    const stop = new AbortController();
    const pool = poolOf(1);
    const options = { signal: stop.signal, onProgress: () => stop.abort() };
    await expect(pool.call('spin', null, options)).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(await pool.call('weigh', new ArrayBuffer(3))).toBe(3);
  });

  it('leaves the queue at once', async () => {
    const pool = poolOf(1);
    const stop = new AbortController();
    const begun = Promise.withResolvers<void>();
    const first = pool.call('spin', null, { signal: stop.signal, onProgress: () => begun.resolve() });
    first.catch(() => undefined);
    await begun.promise;
    const second = pool.call('weigh', new ArrayBuffer(3), { signal: AbortSignal.abort() });
    await expect(second).rejects.toMatchObject({ code: 'CANCELLED' });
    const leaving = new AbortController();
    const third = pool.call('weigh', new ArrayBuffer(3), { signal: leaving.signal });
    leaving.abort();
    await expect(third).rejects.toMatchObject({ code: 'CANCELLED' });
    stop.abort();
    await expect(first).rejects.toMatchObject({ code: 'CANCELLED' });
  });
});

describe('createWorkerPool', () => {
  it('runs as many calls at once as it has threads, keeps the threads, and serves the others in turn', async () => {
    const pool = poolOf(2);
    const used = await Promise.all(Array.from({ length: 12 }, () => pool.call('where', undefined)));
    expect(new Set(used).size).toBeLessThanOrEqual(2);
    expect(used).toHaveLength(12);
  });

  it('ends a thread that waits too long for a call, and serves the next with another', async () => {
    const pool = createWorkerPool<Sample>({ ...how, size: 1, idleMs: 20 });
    pools.push(pool);
    const first = await pool.call('where', undefined);
    await expect.poll(() => pool.call('where', undefined), { interval: 200 }).not.toBe(first);
  });

  it('ends a call that takes too long and answers the next with another thread', async () => {
    const pool = poolOf(1);
    const before = await pool.call('where', undefined);
    await expect(pool.call('spin', null, { timeoutMs: 50 })).rejects.toMatchObject({ code: 'DEADLINE' });
    expect(await pool.call('where', undefined)).not.toBe(before);
  });

  it('answers the next call with another thread after one that crashed', async () => {
    const pool = poolOf(1);
    await expect(pool.call('crash', 3)).rejects.toMatchObject({ code: 'INTERNAL' });
    expect(await pool.call('sum', [4])).toBe(4);
  });

  it('rejects what runs and what waits when it is closed', async () => {
    const pool = poolOf(1);
    const begun = Promise.withResolvers<void>();
    const calls = [pool.call('spin', null, { onProgress: () => begun.resolve() }), pool.call('sum', [1])];
    const ends = Promise.allSettled(calls);
    await begun.promise;
    await pool.close();
    for (const end of await ends) expect(end).toMatchObject({ status: 'rejected', reason: { code: 'CANCELLED' } });
    await expect(pool.call('sum', [1])).rejects.toMatchObject({ code: 'CANCELLED' });
  });

  it('rejects input that cannot be cloned and stays usable', async () => {
    const pool = poolOf(1);
    const unfit = Object.assign([1], { f: () => 1 });
    await expect(pool.call('sum', unfit)).rejects.toThrow('could not be cloned');
    expect(await pool.call('sum', [2])).toBe(2);
  });
});
