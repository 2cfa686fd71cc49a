import type { Say } from './commands.ts';

const QUIET_MS = 2_000;
const REMIND_MS = 10_000;

/** Does something that may take a while; says so after two seconds, and again every ten. */
export async function whileSaying<T>(say: Say, what: string, work: () => Promise<T>): Promise<T> {
  const started = performance.now();
  const first = setTimeout(() => say(`${what} …`), QUIET_MS);
  const reminder = setInterval(() => {
    say(`${what} … ${Math.round((performance.now() - started) / 1000)} s`);
  }, REMIND_MS);
  try {
    return await work();
  } finally {
    clearTimeout(first);
    clearInterval(reminder);
  }
}
