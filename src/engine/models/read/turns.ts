/** Runs work on a connection that it shares with all work that waits beside it. */
export type RunShared<Shared> = <T>(work: (shared: Shared) => Promise<T>) => Promise<T>;

/**
 * So many connections are at work at once: each more is one more process to wake and to switch to, and leaves less to
 * share.
 */
const mostAtWork = 2;
/** What takes longer has a slow statement, and holds nobody up but those who share it. */
const slowAfterMs = 20;
const mostSharing = 16;

/**
 * Makes turns: `open` opens what all who share a turn use, and `end` is called once they are done.
 *
 * A turn comes at once while few connections are at work; whoever comes meanwhile shares the next one.
 */
export function createTurns<Shared extends Readonly<{ end: () => void }>>(
  open: () => Promise<Shared>,
): RunShared<Shared> {
  const atWork = new Set<Readonly<{ since: number }>>();
  let waiting: ((shared: Promise<Shared>) => Promise<void>)[] = [];
  let timer: NodeJS.Timeout | undefined;
  const isFull = (): boolean => {
    if (atWork.size < mostAtWork) return false;
    const slow = performance.now() - slowAfterMs;
    for (const one of atWork) if (one.since < slow) atWork.delete(one);
    return atWork.size >= mostAtWork;
  };
  const next = (): void => {
    while (waiting.length > 0 && !isFull()) {
      const sharing = waiting.slice(0, mostSharing);
      waiting = waiting.slice(mostSharing);
      void share(sharing);
    }
    // Nothing else looks again while all that are at work are slow.
    if (waiting.length > 0) timer ??= setTimeout(lookAgain, slowAfterMs);
  };
  const lookAgain = (): void => {
    timer = undefined;
    next();
  };
  const share = async (sharing: typeof waiting): Promise<void> => {
    const one = { since: performance.now() };
    atWork.add(one);
    const shared = open();
    const [opened] = await Promise.allSettled([shared, ...sharing.map((run) => run(shared))]);
    if (opened.status === 'fulfilled') opened.value.end();
    atWork.delete(one);
    next();
  };
  return async (work) =>
    await new Promise((resolve, reject) => {
      waiting.push((shared) => shared.then(work).then(resolve, reject));
      process.nextTick(next);
    });
}
