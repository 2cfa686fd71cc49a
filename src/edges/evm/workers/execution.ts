import { createWorkerPool } from '../../../kit/threads/worker.ts';
import { openPostgresNodes } from '../executor/state/postgres-nodes.ts';
import type { Applied, UncommittedBlock } from '../executor/executor.ts';
import type { StoredHeader } from '../executor/state/node-store.ts';
import type { Attributes, Item } from '../executor/sealing.ts';
import type * as thread from './execute-thread.ts';
import type { StateAccess } from './state-access.ts';

/**
 * Executes blocks of one chain in a thread; see `Executor` for what each does.
 *
 * One block at a time: executing another one before `commit` drops the first.
 */
export type Execution = Readonly<{
  /** The last block whose state is stored; undefined before genesis. */
  head: () => Promise<StoredHeader | undefined>;
  genesis: () => Promise<UncommittedBlock>;
  seal: (parent: Uint8Array, attributes: Attributes, items: readonly Item[]) => Promise<UncommittedBlock>;
  apply: (parent: Uint8Array, block: Applied) => Promise<UncommittedBlock>;
  /** Drops what is remembered of the store, which has lost blocks that it had. */
  forget: () => Promise<void>;
  close: () => Promise<void>;
}>;

/** Prepares the thread that executes; it starts with the first call but `head`, which the database alone answers. */
export function createExecution(access: StateAccess): Execution {
  const module = new URL('execute-thread.ts', import.meta.url);
  const pool = createWorkerPool<typeof thread>({ name: 'evm-execution', module, size: 1 });
  const sealed = (pending: thread.Pending): UncommittedBlock => ({
    ...pending,
    commit: () => pool.call('commit', { hash: pending.hash }),
  });
  return {
    head: async () => {
      const nodes = openPostgresNodes(access.postgres, access.network);
      try {
        return await nodes.head();
      } finally {
        await nodes.end();
      }
    },
    genesis: async () => sealed(await pool.call('genesis', { access })),
    seal: async (parent, attributes, items) => sealed(await pool.call('seal', { access, parent, attributes, items })),
    apply: async (parent, block) => sealed(await pool.call('apply', { access, parent, block })),
    forget: () => pool.call('forget', {}),
    close: () => pool.close(),
  };
}
