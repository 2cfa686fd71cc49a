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
  let timers: NodeJS.Timeout[] = [];
  const stop = (): void => timers.splice(0).forEach((timer) => clearTimeout(timer));
  const start = (): void => {
    stop();
    if (phase === 'sealing') return;
    const patience = patienceMs(phase);
    const limit = setTimeout(() => stalled.abort(new Error('nothing moved for too long')), limitMs(phase));
    const slow = (): void => {
      isSlow = true;
      onSlow();
    };
    timers = patience === undefined ? [limit] : [limit, setTimeout(slow, patience)];
  };
  const restart = (): void => {
    [sinceMs, isSlow] = [performance.now(), false];
    timers.forEach((timer) => timer.refresh());
  };
  const moved = (): void => {
    silences.set(phase, Math.max(silences.get(phase) ?? 0, performance.now() - sinceMs));
    restart();
  };
  start();
  return {
    signal: AbortSignal.any([stalled.signal, cancelled.signal, outer]),
    moved,
    restart,
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
