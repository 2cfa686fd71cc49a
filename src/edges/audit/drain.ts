import { setTimeout as pause } from 'node:timers/promises';
import { streams } from '../../events/streams.ts';
import type { BothStores } from './archiver.ts';
import { streamInfo } from './raw.ts';

const lookEachMs = 50;

/**
 * Waits until the archive holds all that the log holds now, so that nothing lies in one place alone; at most `withinMs`.
 *
 * Gives back whether it does. Whoever keeps the archive goes on meanwhile, and nobody else should write.
 */
export async function drainArchive(stores: BothStores, withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  const ends = await Promise.all(
    streams.map(async (stream) => ({ stream, last: (await streamInfo(stores, stream))?.state.last_seq ?? 0 })),
  );
  for (;;) {
    const heads = await Promise.all(ends.map(({ stream }) => stores.store.head(stream)));
    if (ends.every(({ last }, at) => (heads[at]?.position ?? 0) >= last)) return true;
    if (performance.now() > deadline) return false;
    await pause(lookEachMs);
  }
}
