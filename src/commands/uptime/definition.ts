/** Version of the rules in this folder; docs/uptime.md has them in words. */
export const uptimeDefinition = 'v1';

/** Seconds of a day in UTC. */
export const daySeconds = 86_400;
/** Seconds between two probes where a probe does not state them. */
const usualEverySeconds = 60;
/** A probe speaks for this many intervals at most. */
const intervalsSpoken = 2.5;

/** Whether a node was available over some time. */
export type UptimeState = 'up' | 'down' | 'unknown';

/** The time for which a probe speaks, in seconds since 1970, unless another probe of the node follows before. */
export type SpokenTime = Readonly<{ state: UptimeState; from: number; until: number }>;

/** The outcome of a probe as far as uptime depends on it. */
export type ProbeOutcome = Readonly<{
  /** RFC 3339, UTC. */
  at: string;
  hasPassed: boolean;
  ports: readonly Readonly<{ port: number; outcome: string }>[];
  statusAnswer: string;
  everySeconds?: number | undefined;
}>;

/** The whole second of a time, since 1970. */
export function secondOf(time: string): number {
  return Math.floor(Date.parse(time) / 1000);
}

/** A second since 1970 as RFC 3339, UTC. */
export function timeOfSecond(second: number): string {
  return new Date(second * 1000).toISOString().replace('.000Z', 'Z');
}

/** The day in UTC of a second since 1970. */
export function dayOf(second: number): string {
  return new Date(second * 1000).toISOString().slice(0, 10);
}

/** The first second of a day. */
export function startOfDay(day: string): number {
  return Date.parse(day) / 1000;
}

/** The time that a probe speaks for: from its end, two and a half intervals at most. */
export function spokenBy(probe: ProbeOutcome, state: UptimeState = probe.hasPassed ? 'up' : 'down'): SpokenTime {
  const from = secondOf(probe.at);
  return { state, from, until: from + Math.floor(intervalsSpoken * (probe.everySeconds ?? usualEverySeconds)) };
}

/**
 * The seconds that a probe decides: up to the next one, its own end, or `end`; none that was counted before, as where a
 * clock was set back.
 */
export function decidedSpan(spoken: SpokenTime, counted: number, end: number): Readonly<{ from: number; to: number }> {
  const from = Math.max(spoken.from, counted);
  return { from, to: Math.max(from, Math.min(spoken.until, end)) };
}
