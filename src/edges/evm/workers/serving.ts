import type { DamageNotice } from '../../../engine/models/database-error.ts';
import { AppError } from '../../../kit/errors.ts';
import { failureOf } from '../../../kit/failure.ts';
import { createWorkerPool } from '../../../kit/threads/worker.ts';
import type { ServedRpc } from '../rpc/serve-rpc.ts';
import type * as thread from './serve-thread.ts';
import type { ServeInput, ServeNotice } from './serve-thread.ts';

/** What ends the thread, and who receives what its stores reported. */
type Serving = Readonly<{
  onAppendRefused: (stream: string) => void;
  onDamage: (damage: DamageNotice) => void;
  signal: AbortSignal;
}>;

/** Requests under way may end within this time once the thread is to stop. */
const graceMs = 10_000;

/** JSON-RPC that a thread serves; `failed` rejects when it can go on no more, and never resolves. */
export type ThreadServing = Omit<ServedRpc, 'stop'> & Readonly<{ failed: Promise<never>; stop: () => Promise<void> }>;

/** A thread for JSON-RPC; `serve` is called once. */
export type ServingThread = Readonly<{ serve: (input: ServeInput, serving: Serving) => Promise<ThreadServing> }>;

/**
 * Starts a thread that is to serve JSON-RPC: neither the blocks that this process seals, folds and archives nor their
 * garbage delay its answers. It loads its modules while the process starts what comes before.
 *
 * `serve` fails with `UNAVAILABLE` when one of the ports is in use.
 */
export function startServingThread(): ServingThread {
  const module = new URL('serve-thread.ts', import.meta.url);
  const pool = createWorkerPool<typeof thread>({ name: 'json-rpc', module, graceMs, size: 1 });
  const prepared = pool.call('prepare', undefined);
  prepared.catch(() => undefined);
  return {
    serve: async (input, { signal: outer, ...hears }) => {
      await prepared;
      const own = new AbortController();
      const signal = AbortSignal.any([outer, own.signal]);
      const { promise: served, resolve } = Promise.withResolvers<Readonly<{ url: string; wsUrl: string }>>();
      const onProgress = (notice: ServeNotice): void => {
        if (notice.kind === 'served') resolve(notice);
        else if (notice.kind === 'refused') hears.onAppendRefused(notice.stream);
        else hears.onDamage(notice.damage);
      };
      const ended = withPool(pool, () => pool.call('serve', input, { signal, onProgress }));
      const over = ended.then(() => Promise.reject(new AppError('CANCELLED', 'JSON-RPC ended before it was served')));
      const { url, wsUrl } = await Promise.race([served, over]);
      over.catch(() => undefined);
      const stop = async (): Promise<void> => {
        own.abort();
        await ended.catch(() => undefined);
      };
      return { url, wsUrl, failed: failureOf([ended], signal), stop };
    },
  };
}

async function withPool(pool: Readonly<{ close: () => Promise<void> }>, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } finally {
    await pool.close();
  }
}
