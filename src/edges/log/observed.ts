import { figures } from '../http/operations/figures.ts';
import type { Observed } from '../http/operations/observed.ts';
import type { LagTracker } from './lag.ts';

/** What a log's server says of itself: the durability in force, and what of it falls short. */
export type LogState = Readonly<{ durability: string; warnings: readonly string[] }>;

/**
 * Whether the broker answers, how durable the log is, and where its streams end; `state` fails while the broker does
 * not answer.
 */
export function observeLog(state: () => Promise<LogState>, lag: Pick<LagTracker, 'heads'>): Observed {
  const look = async () => {
    const { durability, warnings } = await state();
    return { durability, warnings: warnings.map((message) => ({ component: 'broker', message })) };
  };
  const gauges = figures(
    (gauge) => ({
      last: gauge('stream_last_sequence', 'Sequence of the last fact of a stream', 'stream'),
      broker: gauge('broker_up', 'Whether the broker answers'),
      durability: gauge('log_durability_info', 'Grade in force of the log', 'grade'),
    }),
    state,
    ({ last, broker, durability }, seen) => {
      for (const [stream, head] of Object.entries(lag.heads())) last.set({ stream }, head.lastSequence);
      broker.set(Number(seen !== undefined));
      if (seen) durability.set({ grade: seen.durability }, 1);
    },
  );
  return { checks: [{ component: 'broker', look }], gauges: [gauges] };
}
