import { once } from 'node:events';
import { toAppError } from '../../kit/errors.ts';
import type { Ledger } from '../ledger/run-ledger.ts';
import type { Logger } from '../../kit/logger.ts';
import { wait as usualWait } from '../../kit/wait.ts';
import { type Player, playerOf } from './player.ts';
import { type Deed, timeline } from './timeline.ts';

/** The parts that the activity works on. */
export type ActivityOptions = Readonly<{
  ledger: Ledger;
  seed: number;
  logger: Logger;
  signal: AbortSignal;
  subnet?: string;
  /** Called once the history is in the log. */
  onHistory?: () => void;
  /** How time passes between deeds; ends early when the signal aborts. */
  wait?: (ms: number, signal: AbortSignal) => Promise<void>;
}>;

type Acting = ActivityOptions & Required<Pick<ActivityOptions, 'wait'>>;

const retryMs = 1000;

/**
 * Plays the timeline of a seed on a ledger until the signal aborts: its history at once, the rest as time passes.
 *
 * Continues after the transactions that the chain has already.
 */
export async function playActivity({ wait = usualWait, ...options }: ActivityOptions): Promise<void> {
  const { signal } = options;
  if (signal.aborted) return;
  // A transaction that waits for a broker out of reach does not delay a stop.
  await Promise.race([act({ ...options, wait }), once(signal, 'abort')]);
}

async function act({ wait, ...options }: Acting): Promise<void> {
  const { ledger, seed, logger, signal } = options;
  const player = playerOf(options);
  const { startedAt } = ledger.status();
  const steps = timeline(seed);
  let beforeMs = 0;
  for (let done = player.transactionsSoFar(); done > 0; done--) beforeMs = steps.next().value.atMs;
  let failed = 0;
  let written = 0;
  for (const { atMs, deed, isHistory } of steps) {
    if (isHistory) {
      written += 1;
      await player.play(deed, Date.parse(startedAt) + atMs).catch(() => (failed += 1));
      if (signal.aborted) return;
      beforeMs = atMs;
      continue;
    }
    if (written > 0) logger.info({ transactions: written - failed, failed }, 'local network wrote its history');
    written = 0;
    options.onHistory?.();
    await wait(atMs - beforeMs, signal);
    beforeMs = atMs;
    if (signal.aborted) return;
    await playLive(deed, { ...options, wait }, player);
  }
}

async function playLive(deed: Deed, { logger, signal, wait }: Acting, player: Player): Promise<void> {
  while (!signal.aborted) {
    try {
      const { height, code } = await player.play(deed);
      logger.debug({ deed: deed.kind, height, code }, 'local network acted');
      return;
    } catch (caught) {
      if (signal.aborted) return;
      const err = toAppError(caught);
      if (err.code === 'INVALID_ARGUMENT') return logger.warn({ err, deed: deed.kind }, 'local network was refused');
      logger.warn({ err, deed: deed.kind }, 'local network could not act; trying again');
      await wait(retryMs, signal);
    }
  }
}
