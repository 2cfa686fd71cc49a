/** Runs work on an id while no other work on it runs. */
export type Alone = Readonly<{
  run: <T>(id: string, work: () => Promise<T>, giveWay?: () => void) => Promise<T>;
  isRunning: (id: string) => boolean;
}>;

/**
 * One at a time for each id. A newcomer requests the running work to stop, and waits until it has ended: a sender whose
 * connection hangs blocks no other.
 */
export function createAlone(): Alone {
  const busy = new Map<string, Readonly<{ giveWay: () => void; ended: Promise<unknown> }>>();
  return {
    isRunning: (id) => busy.has(id),
    run: async (id, work, giveWay = () => undefined) => {
      for (let other = busy.get(id); other; other = busy.get(id)) {
        other.giveWay();
        await other.ended.catch(() => undefined);
      }
      const working = work().finally(() => busy.delete(id));
      busy.set(id, { giveWay, ended: working });
      return await working;
    },
  };
}
