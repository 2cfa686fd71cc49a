import { describe, expect, it } from 'vitest';
import { followFeed, type PlacedEvent, type ResumableFeed } from '../../../src/edges/http/sse-resume.ts';
import { createSharedFeeds } from '../../../src/edges/http/sse-shared.ts';

/** A feed that a test writes, and how often it was read and is watched. */
function writtenFeed() {
  const events: PlacedEvent[] = [];
  const watching = new Set<() => void>();
  const counted = { reads: 0 };
  let failure: Error | undefined;
  const tell = (): void => watching.forEach((onMore) => onMore());
  const feed: ResumableFeed = {
    history: async function* (after) {
      counted.reads += 1;
      if (failure) throw failure;
      yield* events.filter(({ id }) => id > after);
    },
    watch: (onMore) => {
      watching.add(onMore);
      return () => void watching.delete(onMore);
    },
  };
  return {
    feed,
    counted,
    watching,
    write: (...more: PlacedEvent[]) => (events.push(...more), tell()),
    fail: (err: Error) => ((failure = err), tell()),
  };
}

/** A reader of a feed: what it has seen, and its end. */
function read(feed: ResumableFeed, after = 0) {
  const over = new AbortController();
  const seen: number[] = [];
  const ended = followFeed(feed, after, over.signal, ({ id }) => void seen.push(id));
  return { seen, ended, leave: () => over.abort() };
}

const event = (id: number): PlacedEvent => ({ id, data: `state ${id}` });

describe('createSharedFeeds', () => {
  it('shows all to each of a thousand readers, wherever they begin, and reads it once', async () => {
    const { feed, counted, write } = writtenFeed();
    const shared = createSharedFeeds();
    write(event(1), event(2));
    const readers = Array.from({ length: 1000 }, (_, index) => read(shared('task', feed), index % 3));
    await expect.poll(() => readers.every(({ seen }) => seen.at(-1) === 2 || seen.length === 0)).toBe(true);
    write(event(3));
    write({ ...event(4), endsAs: 'done' });
    await Promise.all(readers.map(({ ended }) => ended));
    readers.forEach(({ seen }, index) => expect(seen).toEqual([1, 2, 3, 4].slice(index % 3)));
    expect(counted.reads).toBeLessThan(5);
  });

  it('shows one who comes after the end what there was', async () => {
    const { feed, write } = writtenFeed();
    const shared = createSharedFeeds();
    write(event(1), { ...event(2), endsAs: 'done' });
    const [first, second] = [read(shared('task', feed)), read(shared('task', feed))];
    await Promise.all([first.ended, second.ended]);
    const late = read(shared('task', feed));
    await late.ended;
    expect([first.seen, second.seen, late.seen]).toEqual([
      [1, 2],
      [1, 2],
      [1, 2],
    ]);
  });

  it('keeps feeds apart, and nothing of one that nobody reads', async () => {
    const [one, other] = [writtenFeed(), writtenFeed()];
    const shared = createSharedFeeds();
    const readers = [read(shared('one', one.feed)), read(shared('one', one.feed)), read(shared('other', other.feed))];
    one.write(event(1));
    other.write(event(7));
    await expect.poll(() => readers.map(({ seen }) => seen)).toEqual([[1], [1], [7]]);
    for (const { leave } of readers) leave();
    await Promise.all(readers.map(({ ended }) => ended));
    expect([one.watching.size, other.watching.size]).toEqual([0, 0]);
  });

  it('fails for all its readers where the feed does, and begins anew for the next', async () => {
    const { feed, write, fail, counted } = writtenFeed();
    const shared = createSharedFeeds();
    write(event(1));
    const readers = [read(shared('task', feed)), read(shared('task', feed))];
    await expect.poll(() => readers.map(({ seen }) => seen)).toEqual([[1], [1]]);
    fail(new Error('the log is away'));
    await Promise.all(readers.map(async ({ ended }) => await expect(ended).rejects.toThrow('the log is away')));
    const before = counted.reads;
    await expect(read(shared('task', feed)).ended).rejects.toThrow('the log is away');
    expect(counted.reads).toBe(before + 1);
  });
});
