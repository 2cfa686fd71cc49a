import { type Countdown, countDown } from '../../../kit/wait.ts';

/** What an attempt waits for: a connection, a node that takes bytes, a node that works, or the chain. */
export type AttemptPhase = 'dialling' | 'sending' | 'processing' | 'sealing';

/** The longest silence of an attempt in each phase, in milliseconds. */
export type Silences = ReadonlyMap<AttemptPhase, number>;

/** Observes whether anything moves in an attempt: ends it where nothing does, and reports first that it is slow. */
export type AttemptWatch = Readonly<{
  /** Aborts where nothing moved for the limit, and with `cancel`. */
  signal: AbortSignal;
  /** Something moved on the node's side. */
  moved: () => void;
  /** The silence so far was our own: it starts anew, and none is recorded. */
  restart: () => void;
  /** Awaits work of ours, such as a read of our disk: its time is no silence of the node. */
  ownTime: <T>(work: Promise<T>) => Promise<T>;
  /** The next phase; in `sealing` nothing is limited. */
  enter: (phase: AttemptPhase) => void;
  phase: () => AttemptPhase;
  isStalled: () => boolean;
  /** Returns whether the attempt is silent for longer than its patience now. */
  isSlow: () => boolean;
  silences: () => Silences;
  cancel: () => void;
  /** Ends the timers. */
  stop: () => void;
}>;

/** Limits of a watch. */
export type WatchOptions = Readonly<{
  /** Most silence of a phase, after which the attempt ends. */
  limitMs: (phase: AttemptPhase) => number;
  /** Silence of a phase after which the attempt is slow; undefined: it never is. */
  patienceMs: (phase: AttemptPhase) => number | undefined;
  onSlow: () => void;
  outer: AbortSignal;
}>;

/** Starts to watch an attempt, in phase `dialling`. */
export function watchAttempt({ limitMs, patienceMs, onSlow, outer }: WatchOptions): AttemptWatch {
  const [stalled, cancelled] = [new AbortController(), new AbortController()];
  const silences = new Map<AttemptPhase, number>();
  let phase: AttemptPhase = 'dialling';
  let sinceMs = performance.now();
  let isSlow = false;
  let working = 0;
  const isOurs = (): boolean => working > 0;
  let watches: Countdown[] = [];
  const stop = (): void => watches.splice(0).forEach((one) => one.stop());
  const start = (): void => {
    stop();
    if (phase === 'sealing') return;
    const patience = patienceMs(phase);
    const stall = (): void => stalled.abort(new Error('nothing moved for too long'));
    const limit = countDown(limitMs(phase), stall, isOurs);
    const slow = (): void => {
      isSlow = true;
      onSlow();
    };
    watches = patience === undefined ? [limit] : [limit, countDown(patience, slow, isOurs)];
  };
  const restart = (): void => {
    const wasSlow = isSlow;
    [sinceMs, isSlow] = [performance.now(), false];
    if (wasSlow && watches.length > 0) start();
    else watches.forEach((one) => one.restart());
  };
  const moved = (): void => {
    silences.set(phase, Math.max(silences.get(phase) ?? 0, performance.now() - sinceMs));
    restart();
  };
  const ownTime: AttemptWatch['ownTime'] = async (work) => {
    working += 1;
    try {
      return await work;
    } finally {
      working -= 1;
      sinceMs = performance.now();
    }
  };
  start();
  return {
    signal: AbortSignal.any([stalled.signal, cancelled.signal, outer]),
    moved,
    restart,
    ownTime,
    enter: (next) => {
      moved();
      phase = next;
      start();
    },
    phase: () => phase,
    isStalled: () => stalled.signal.aborted,
    isSlow: () => isSlow,
    silences: () => silences,
    cancel: () => cancelled.abort(new Error('another attempt was first')),
    stop,
  };
}
