import type { StreamName } from '../../events/streams.ts';
import { figures } from '../../kit/figures.ts';
import type { Observed } from '../../kit/observed.ts';
import type { Logger } from '../../kit/logger.ts';
import { within } from '../../kit/wait.ts';

/** The end of a stream; `lastTime` is RFC 3339 by the broker's clock, absent while the stream is empty. */
export type StreamEnd = Readonly<{ lastSequence: number; lastTime?: string | undefined }>;

/** The last known heads of the streams. */
export type StreamEnds = Readonly<Partial<Record<StreamName, StreamEnd>>>;

/** Knows how long ago the log went beyond a position. */
export type LagTracker = Readonly<{
  /** Milliseconds that a position is behind the log; 0 at its head. */
  lagMs: (stream: StreamName, sequence: number) => number;
  /** Last sequence seen of each stream. */
  heads: () => StreamEnds;
  /** Settles once the first request to the broker has ended. */
  ready: Promise<void>;
}>;

type Seen = Readonly<{ sequence: number; atMs: number }>;

const pollMs = 1000;
const pollTimeoutMs = 5000;
const mostSeen = 1024;

/**
 * Watches the heads of the streams each second until the signal ends it.
 *
 * A head that was written before it was first seen counts from when it was written, so a start does not hide a lag.
 * While the broker does not answer, the age of the last known heads continues to grow.
 */
export function trackLag(
  readHeads: () => Promise<StreamEnds>,
  { signal, clock, logger }: { signal: AbortSignal; clock: () => number; logger: Logger },
): LagTracker {
  const seen = new Map<string, Seen[]>();
  let latest: StreamEnds = {};
  const poll = async (): Promise<void> => {
    try {
      const heads = await within(pollTimeoutMs, readHeads(), 'The broker does not answer');
      latest = heads;
      for (const [stream, head] of Object.entries(heads)) note(seen, stream, head, clock());
    } catch (caught) {
      logger.debug({ err: caught }, 'stream heads not read');
    }
  };
  const ready = poll();
  void ready.then(() => repeat(poll, signal));
  return {
    lagMs(stream, sequence) {
      const beyond = seen.get(stream)?.find((one) => one.sequence > sequence);
      return beyond ? Math.max(clock() - beyond.atMs, 0) : 0;
    },
    heads: () => latest,
    ready,
  };
}

function note(seen: Map<string, Seen[]>, stream: string, { lastSequence, lastTime }: StreamEnd, now: number): void {
  const list = seen.get(stream) ?? [];
  const last = list.at(-1);
  if (last && last.sequence > lastSequence) list.length = 0;
  if (!last || last.sequence !== lastSequence) {
    const written = lastTime === undefined ? now : Date.parse(lastTime);
    list.push({ sequence: lastSequence, atMs: Math.min(now, Number.isNaN(written) ? now : written) });
  }
  seen.set(stream, list.length > mostSeen ? thinned(list) : list);
}

/** Every second one of the older half goes: the far past needs no seconds. */
function thinned(list: readonly Seen[]): Seen[] {
  return list.filter((_, index) => index >= list.length / 2 || index % 2 === 0);
}

function repeat(poll: () => Promise<void>, signal: AbortSignal): void {
  if (signal.aborted) return;
  let isBusy = false;
  const timer = setInterval(() => {
    if (isBusy) return;
    isBusy = true;
    void poll().finally(() => (isBusy = false));
  }, pollMs).unref();
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
}

/** A log server's report of itself: the durability in force, and where it falls short. */
export type LogState = Readonly<{ durability: string; warnings: readonly string[] }>;

/**
 * Returns whether the broker answers, how durable the log is, and where its streams end; `state` fails while the broker
 * does not answer.
 */
export function observeLog(state: () => Promise<LogState>, lag: Pick<LagTracker, 'heads'>): Observed {
  const check = async () => {
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
  return { checks: [{ component: 'broker', look: check }], gauges: [gauges] };
}
