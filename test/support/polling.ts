import { setTimeout as pause } from 'node:timers/promises';

const lookEveryMs = 25;

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
  const deadline = performance.now() + withinMs;
  for (;;) {
    let cause: unknown;
    try {
      const seen = await look();
      if (seen !== undefined && seen !== false) return seen;
    } catch (caught) {
      cause = caught;
    }
    if (performance.now() > deadline) throw new Error(`Waited in vain until ${what}`, { cause });
    await pause(lookEveryMs);
  }
}

/**
 * Repeats a check until it holds, and gives back what it gives; after two minutes fails with what it failed with last.
 *
 * @example await eventually(() => expect(seen).toContain('a'))
 */
export async function eventually<T>(check: () => Promise<T> | T): Promise<T> {
  const deadline = performance.now() + 120_000;
  for (;;) {
    try {
      return await check();
    } catch (caught) {
      if (performance.now() > deadline) throw caught;
    }
    await pause(lookEveryMs);
  }
}
