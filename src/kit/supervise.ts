import type { Logger } from './logger.ts';
import { wait } from './wait.ts';

type Running = Readonly<{ exited: Promise<string>; stop: () => Promise<void> }>;

/**
 * Starts a server again whenever it ends unasked.
 *
 * `current` is the one that was started last; `stop` ends it for good, one that is just being started included.
 */
export function keepRunning<S extends Running>(
  name: string,
  first: S,
  start: (signal: AbortSignal) => Promise<S>,
  { log, signal }: { log: Logger; signal: AbortSignal },
): { current: () => S; stop: () => Promise<void> } {
  let current = first;
  const stopping = new AbortController();
  const ending = AbortSignal.any([signal, stopping.signal]);
  const watch = async (): Promise<void> => {
    for (let waitMs = 100; !ending.aborted; waitMs = Math.min(waitMs * 2, 5000)) {
      const reason = await current.exited;
      if (ending.aborted) return;
      log.error({ server: name, reason }, 'embedded server ended unasked; starting it again');
      const again = await start(ending).catch(async (err: unknown) => {
        if (ending.aborted) return;
        log.error({ server: name, err }, 'embedded server did not start');
        await wait(waitMs, ending);
      });
      if (!again) continue;
      current = again;
      waitMs = 100;
      log.info({ server: name }, 'embedded server is back');
    }
  };
  const watching = watch();
  return {
    current: () => current,
    stop: async () => {
      stopping.abort();
      // First the server that runs, then whatever was being started: it sees the signal, or has become the one that
      // runs.
      await current.stop();
      await watching;
      await current.stop();
    },
  };
}
