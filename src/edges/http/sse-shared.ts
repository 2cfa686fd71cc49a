import { followFeed, neverMs, type PlacedEvent, type ResumableFeed } from './sse-resume.ts';

/** The state of one feed, shared by all of its readers. */
type Shared = {
  readonly events: PlacedEvent[];
  readonly readers: Set<() => void>;
  readonly over: AbortController;
  failed: Error | undefined;
};

/**
 * Lets many readers share feeds by their key: the history of each is read once, and new events once, for all of them.
 *
 * All of a feed is kept in memory while it has readers, so this is for feeds of some hundred events; it starts with the
 * call and ends with its last reader. A feed that fails fails for all of its readers; the next reader starts it anew.
 *
 * @example await showFeed(client, shared(task.name, feed), lastEventId(request))
 */
export function createSharedFeeds(): (key: string, feed: ResumableFeed) => ResumableFeed {
  const all = new Map<string, Shared>();
  const start = (key: string, feed: ResumableFeed): Shared => {
    const shared: Shared = { events: [], readers: new Set(), over: new AbortController(), failed: undefined };
    const wakeAll = (): void => shared.readers.forEach((wake) => wake());
    const take = (event: PlacedEvent): void => {
      shared.events.push(event);
      wakeAll();
    };
    all.set(key, shared);
    void followFeed(feed, 0, shared.over.signal, take).catch((caught: unknown) => {
      shared.failed = caught instanceof Error ? caught : new Error(String(caught));
      if (all.get(key) === shared) all.delete(key);
      wakeAll();
    });
    return shared;
  };
  return (key, feed) => {
    // A reader keeps what is shared, never its own way to it.
    const shared = all.get(key) ?? start(key, feed);
    return {
      pollMs: neverMs,
      watch: (onMore) => {
        shared.readers.add(onMore);
        return () => {
          shared.readers.delete(onMore);
          if (shared.readers.size > 0) return;
          if (all.get(key) === shared) all.delete(key);
          shared.over.abort();
        };
      },
      history: async function* (after) {
        if (shared.failed) throw shared.failed;
        for (const event of shared.events) if (event.id > after) yield event;
      },
    };
  };
}
