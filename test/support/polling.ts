import { setTimeout as pause } from 'node:timers/promises';

/** Looks often at first, and seldom where something takes long: each look takes time from what it waits for. */
const seldomMs = 100;
const oftenMs = 25;

/** The pause after a look, for whoever has waited so long already. */
const pauseAfter = (waitedMs: number): number => Math.min(seldomMs, Math.max(oftenMs, waitedMs / 20));

/**
 * Looks again and again until there is something to see, and gives it back; `undefined` and `false` are nothing.
 *
 * Fails after `withinMs`, naming `what`, with the last error of `look` as its cause where that was what it came to.
 */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
  withinMs = 120_000,
): Promise<T> {
  const began = performance.now();
  for (;;) {
    let cause: unknown;
    try {
      const seen = await look();
      if (seen !== undefined && seen !== false) return seen;
    } catch (caught) {
      cause = caught;
    }
    const waited = performance.now() - began;
    if (waited > withinMs) throw new Error(`Waited in vain until ${what}`, { cause });
    await pause(pauseAfter(waited));
  }
}

/**
 * Repeats a check until it holds, and gives back what it gives; after two minutes fails with what it failed with last.
 *
 * @example await eventually(() => expect(seen).toContain('a'))
 */
export async function eventually<T>(check: () => Promise<T> | T): Promise<T> {
  const began = performance.now();
  for (;;) {
    let waited: number;
    try {
      return await check();
    } catch (caught) {
      waited = performance.now() - began;
      if (waited > 120_000) throw caught;
    }
    await pause(pauseAfter(waited));
  }
}
