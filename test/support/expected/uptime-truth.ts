/** A probe as an export of the log has it. */
export type ExportedProbe = Readonly<{
  node: string;
  at: string;
  passed: boolean;
  tookMs: number;
  everySeconds: number;
  ports: readonly Readonly<{ port: number; outcome: string }>[];
}>;

/** What a day of a node comes to by the definition. */
export type TrueDay = Readonly<{ up: number; down: number; unknown: number; took: readonly number[] }>;

const day = 86_400;

/**
 * Uptime by the definition in docs/uptime.md, second by second: of each one the last probe at or before it counts, if
 * it still speaks. It shares nothing with what it checks; times have to grow along a node's probes.
 */
export function trueDays(probes: readonly ExportedProbe[], from: number, to: number): Map<string, TrueDay> {
  const ours = blindProbes(probes);
  const days = new Map<string, TrueDay>();
  for (const [node, own] of Map.groupBy(probes, (probe) => probe.node)) {
    const seconds = own.map(({ at }) => Math.floor(Date.parse(at) / 1000));
    const ends = own.map(({ everySeconds }, index) => (seconds[index] ?? 0) + Math.floor(everySeconds * 2.5));
    const states = own.map((one) => (ours.has(one) ? 'unknown' : one.passed ? 'up' : 'down'));
    let last = -1;
    for (let start = from; start < to; start += day) {
      const counts = { up: 0, down: 0, unknown: 0 };
      const stateAt = (second: number): keyof typeof counts => {
        while ((seconds[last + 1] ?? Infinity) <= second) last++;
        return second < (ends[last] ?? 0) ? (states[last] ?? 'unknown') : 'unknown';
      };
      for (let second = start; second < start + day; second++) counts[stateAt(second)]++;
      const isWithin = (index: number) => (seconds[index] ?? 0) >= start && (seconds[index] ?? 0) < start + day;
      const passed = own.filter((one, index) => one.passed && isWithin(index));
      const took = passed.map(({ tookMs }) => tookMs).toSorted((a, b) => a - b);
      days.set(`${node} ${new Date(start * 1000).toISOString().slice(0, 10)}`, { ...counts, took });
    }
  }
  return days;
}

/** Probes of minutes in which two nodes or more were probed, and no probe found a way to a port. */
function blindProbes(probes: readonly ExportedProbe[]): ReadonlySet<ExportedProbe> {
  const blind = new Set<ExportedProbe>();
  for (const same of Map.groupBy(probes, ({ at }) => at.slice(0, 16)).values()) {
    const isLost = same.every(({ ports }) => ports.every(({ outcome }) => outcome === 'unreachable'));
    if (isLost && new Set(same.map(({ node }) => node)).size > 1) for (const one of same) blind.add(one);
  }
  return blind;
}

/** The time at a share of some times, which are in order: the one at index ⌊share (n − 1)⌋. */
export function trueShare(times: readonly number[], share: number): number {
  return times[Math.floor(share * (times.length - 1))] ?? 0;
}
