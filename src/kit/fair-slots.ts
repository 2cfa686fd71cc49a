import { AppError } from './errors.ts';

/** The claim of a caller to a slot, and the signal that ends it. */
export type SlotClaim = Readonly<{ caller: string; signal: AbortSignal }>;

/** So many at a time; callers that wait come by turns, whatever each of them has waiting. */
export type FairSlots = Readonly<{
  /** Runs work in a slot of its own; fails with `CANCELLED`, and runs nothing, when the signal aborts before. */
  run: <T>(work: () => Promise<T>, claim: SlotClaim) => Promise<T>;
}>;

type Turn = PromiseWithResolvers<void>;

/**
 * Makes slots that no caller can withhold from the others; `what` names in a sentence what waits for them.
 *
 * @example const calls = createFairSlots(2, 'A call'); await calls.run(() => call(), { caller: '192.0.2.1', signal })
 */
export function createFairSlots(size: number, what: string): FairSlots {
  let free = size;
  /** By caller, the one whose turn is next first. */
  const waiting = new Map<string, Turn[]>();
  const refusal = (): AppError => new AppError('CANCELLED', `${what} was cancelled before its turn came`);
  const leave = (caller: string, turn: Turn): boolean => {
    const own = waiting.get(caller) ?? [];
    const at = own.indexOf(turn);
    if (at === -1) return false;
    own.splice(at, 1);
    if (own.length === 0) waiting.delete(caller);
    return true;
  };
  const enter = async ({ caller, signal }: SlotClaim): Promise<void> => {
    if (signal.aborted) throw refusal();
    if (free > 0) {
      free -= 1;
      return;
    }
    const turn: Turn = Promise.withResolvers<void>();
    const abort = (): void => {
      if (leave(caller, turn)) turn.reject(refusal());
    };
    const own = waiting.get(caller);
    if (own) own.push(turn);
    else waiting.set(caller, [turn]);
    signal.addEventListener('abort', abort, { once: true });
    await turn.promise.finally(() => signal.removeEventListener('abort', abort));
  };
  const give = (): void => {
    const [next] = waiting;
    if (!next) {
      free += 1;
      return;
    }
    const [caller, own] = next;
    const turn = own.shift();
    waiting.delete(caller);
    if (own.length > 0) waiting.set(caller, own);
    turn?.resolve();
  };
  return {
    run: async (work, claim) => {
      await enter(claim);
      try {
        return await work();
      } finally {
        give();
      }
    },
  };
}
