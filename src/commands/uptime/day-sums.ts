import type { FactOf } from '../../events/catalogue.ts';
import {
  dayOf,
  daySeconds,
  decidedSpan,
  type ProbeOutcome,
  secondOf,
  type SpokenTime,
  spokenBy,
  startOfDay,
  timeOfSecond,
  uptimeDefinition,
  type UptimeState,
} from './definition.ts';
import { isIncident, type Outage, outageAfter } from './incidents.ts';
import { sketchOf } from './sketch.ts';

/** A probe as its stream holds it. */
export type SeenProbe = ProbeOutcome & Readonly<{ sequence: number; tookMs: number }>;

/** The probes of a node up to the end of some days, and what is known of all nodes together. */
export type CloseDays = Readonly<{
  node: string;
  /** In the order of their stream; those that closed days hold may be among them, later ones too. */
  probes: readonly SeenProbe[];
  /** The day of which, and from which on, nothing is closed yet. */
  before: string;
  /** Minutes since 1970 in which this instance itself reached no node. */
  blindMinutes: ReadonlySet<number>;
  /** The signed tree of the stream of probes. */
  tree?: Readonly<{ size: number; root: string }> | undefined;
}>;

/** The last closed day of a node. */
export type ClosedState = Readonly<{ day: string; known: FactOf<'day'>['data']['known'] }>;

type ClosedDay = FactOf<'day'>['data'];

const hourSeconds = 3600;
const hoursOfDay = 24;

/** The days of a node from the last closed one up to `before`, as facts hold them; see `closing`. */
export function closedDays(command: CloseDays, state: ClosedState): ClosedDay[] {
  const end = startOfDay(command.before);
  const sums = new DaySums(command, state);
  for (const probe of command.probes) {
    if (probe.sequence <= state.known.lastSequence) continue;
    if (secondOf(probe.at) >= end) break;
    sums.add(probe);
  }
  sums.closeBefore(command.before);
  return sums.closed;
}

/** Sums up one day after the other; mutable. */
class DaySums {
  readonly closed: ClosedDay[] = [];
  readonly #command: CloseDays;
  #day: string;
  /** No second before this one is counted any more. */
  #counted: number;
  #spoken: SpokenTime | undefined;
  #failing: Outage | undefined;
  #lastSequence: number;
  #sum = new DaySum();

  constructor(command: CloseDays, { day, known }: ClosedState) {
    this.#command = command;
    this.#day = day === '' ? '' : dayOf(startOfDay(day) + daySeconds);
    this.#counted = day === '' ? -Infinity : startOfDay(this.#day);
    this.#spoken = known.verdict && {
      state: known.verdict.state as UptimeState,
      from: secondOf(known.verdict.from),
      until: secondOf(known.verdict.until),
    };
    this.#failing = known.failing;
    this.#lastSequence = known.lastSequence;
  }

  add(probe: SeenProbe): void {
    const at = secondOf(probe.at);
    this.closeBefore(dayOf(Math.max(at, this.#counted)));
    this.#speak(at);
    const isBlind = isUnreachable(probe) && this.#command.blindMinutes.has(minuteOf(at));
    this.#spoken = spokenBy(probe, isBlind ? 'unknown' : undefined);
    this.#counted = Math.max(this.#counted, at);
    this.#lastSequence = probe.sequence;
    this.#sum.add(probe, isBlind);
    if (isBlind) return;
    const next = outageAfter(this.#failing, probe);
    if (next && isIncident(next)) this.#sum.incidents.set(next.startedAt, next);
    this.#failing = probe.hasPassed ? undefined : next;
  }

  /** Closes every day before one; days of which nothing is known are passed over. */
  closeBefore(day: string): void {
    if (this.#day === '') this.#day = day;
    while (this.#day < day) {
      const end = startOfDay(this.#day) + daySeconds;
      this.#speak(end);
      if (this.#failing && isIncident(this.#failing)) this.#sum.incidents.set(this.#failing.startedAt, this.#failing);
      if (this.#sum.isKnown()) this.closed.push(this.#fact(end));
      this.#sum = new DaySum();
      this.#counted = end;
      this.#day = (this.#spoken?.until ?? 0) > end ? dayOf(end) : day;
    }
    this.#counted = Math.max(this.#counted, startOfDay(this.#day));
  }

  #speak(end: number): void {
    if (!this.#spoken) return;
    const { from, to } = decidedSpan(this.#spoken, this.#counted, end);
    this.#sum.count(this.#spoken.state, from, to);
    this.#counted = Math.max(this.#counted, to);
  }

  #fact(end: number): ClosedDay {
    const { tree } = this.#command;
    const { last } = this.#sum;
    const spoken = this.#spoken && this.#spoken.until > end ? this.#spoken : undefined;
    return {
      node: this.#command.node,
      day: this.#day,
      definition: uptimeDefinition,
      ...this.#sum.data(),
      ...(tree && last !== undefined && tree.size >= last && { tree: { size: tree.size, root: tree.root } }),
      known: {
        lastSequence: this.#lastSequence,
        ...(spoken && {
          verdict: { state: spoken.state, from: timeOfSecond(spoken.from), until: timeOfSecond(spoken.until) },
        }),
        ...(this.#failing && { failing: this.#failing }),
      },
    };
  }
}

/** The sums of one day; mutable. */
class DaySum {
  readonly incidents = new Map<string, Outage>();
  readonly #hours = { up: hours(), down: hours() };
  readonly #took: number[] = [];
  readonly #ports = new Map<string, { port: number; outcome: string; probes: number }>();
  #probes = 0;
  #failed = 0;
  #first: number | undefined;
  last: number | undefined;

  add(probe: SeenProbe, isBlind: boolean): void {
    this.#first ??= probe.sequence;
    this.last = probe.sequence;
    this.#probes++;
    if (isBlind) return;
    if (probe.hasPassed) this.#took.push(probe.tookMs);
    else this.#failed++;
    for (const { port, outcome } of probe.ports) {
      if (outcome === 'open') continue;
      const seen = this.#ports.get(`${port} ${outcome}`) ?? { port, outcome, probes: 0 };
      this.#ports.set(`${port} ${outcome}`, { ...seen, probes: seen.probes + 1 });
    }
  }

  /** Counts seconds of this day. */
  count(state: UptimeState, from: number, to: number): void {
    if (state === 'unknown') return;
    for (let start = from; start < to;) {
      const hour = Math.floor((start % daySeconds) / hourSeconds);
      const stop = Math.min(to, start - (start % hourSeconds) + hourSeconds);
      this.#hours[state][hour] = (this.#hours[state][hour] ?? 0) + stop - start;
      start = stop;
    }
  }

  /** Whether a probe was made on this day, or one of the day before spoke for time of it. */
  isKnown(): boolean {
    return this.#probes > 0 || [...this.#hours.up, ...this.#hours.down].some((seconds) => seconds > 0);
  }

  data(): Omit<ClosedDay, 'node' | 'day' | 'definition' | 'tree' | 'known'> {
    const [up, down] = [sumOf(this.#hours.up), sumOf(this.#hours.down)];
    return {
      up,
      down,
      unknown: daySeconds - up - down,
      probes: this.#probes,
      failed: this.#failed,
      hoursUp: this.#hours.up,
      hoursDown: this.#hours.down,
      ports: [...this.#ports.values()].toSorted(
        (a, b) => a.port - b.port || (a.outcome < b.outcome ? -1 : Number(a.outcome > b.outcome)),
      ),
      incidents: [...this.incidents.values()],
      took: sketchOf(this.#took),
      ...(this.#first !== undefined && { firstSequence: this.#first }),
      ...(this.last !== undefined && { lastSequence: this.last }),
    };
  }
}

const hours = (): number[] => Array.from({ length: hoursOfDay }, () => 0);
const sumOf = (seconds: readonly number[]): number => seconds.reduce((sum, one) => sum + one, 0);

/** The minute since 1970 of a second. */
export function minuteOf(second: number): number {
  return Math.floor(second / 60);
}

/**
 * Whether a probe found no way to any port of its node: where all nodes answer so within one minute, the failure is
 * ours.
 */
export function isUnreachable({ hasPassed, ports }: Pick<SeenProbe, 'hasPassed' | 'ports'>): boolean {
  return !hasPassed && ports.length > 0 && ports.every(({ outcome }) => outcome === 'unreachable');
}
