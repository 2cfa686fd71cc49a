import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { NumberedOrder, Order, Reply } from './orders.ts';

/** Carries an order out on the hostile side. */
export type HostileSide = (order: Order) => Promise<void>;

/** Starts the process of the hostile side; it ends with the stack. */
export function startHostileSide(undo: AsyncDisposableStack): HostileSide {
  const program = new URL('hostile-process.ts', import.meta.url);
  const child = fork(program, { execArgv: [], serialization: 'advanced' });
  const exited = once(child, 'exit');
  undo.defer(async () => {
    child.disconnect();
    await exited;
  });
  const open = new Map<number, PromiseWithResolvers<void>>();
  child.on('message', ({ number, failure }: Reply) => {
    if (failure === undefined) open.get(number)?.resolve();
    else open.get(number)?.reject(new Error(failure));
    open.delete(number);
  });
  child.once('exit', () => open.forEach(({ reject }) => reject(new Error('The process of the hostile side ended'))));
  let number = 0;
  return async (order) => {
    const reply = Promise.withResolvers<void>();
    number += 1;
    open.set(number, reply);
    child.send({ number, order } satisfies NumberedOrder);
    await reply.promise;
  };
}
