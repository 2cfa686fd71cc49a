/** Runs tasks so that no two that share a name run at the same time; tasks of a name run in the order they came. */
export type Lanes = <T>(names: readonly string[], task: () => Promise<T>) => Promise<T>;

/** Lanes of their own. Names are taken all at once, so tasks never wait for each other in a circle. */
export function createLanes(): Lanes {
  const tails = new Map<string, Promise<void>>();
  return (names, task) => {
    const before = names.flatMap((name) => tails.get(name) ?? []);
    const result = before.length === 0 ? task() : Promise.all(before).then(task);
    const leave = (): void => {
      for (const name of names) if (tails.get(name) === tail) tails.delete(name);
    };
    const tail = result.then(leave, leave);
    for (const name of names) tails.set(name, tail);
    return result;
  };
}
