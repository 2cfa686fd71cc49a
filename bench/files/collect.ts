import { setTimeout as pause } from 'node:timers/promises';

/** Collections by which V8 has given back what it does not need, which it does little by little. */
const collections = 5;
const betweenMs = 300;

/** Loaded into a measured program: it collects its garbage when it receives SIGUSR2. */
process.on('SIGUSR2', () => void collect());

async function collect(): Promise<void> {
  for (let n = 0; n < collections; n += 1) {
    globalThis.gc?.();
    await pause(betweenMs);
  }
}
