import { outcomeOf } from '../../../commands/probing.ts';
import type { FactLog, Recorded } from '../../../commands/ports.ts';
import { CloseNodeDays } from '../../../commands/uptime/closing.ts';
import { type CloseDays, isUnreachable, minuteOf, type SeenProbe } from '../../../commands/uptime/day-sums.ts';
import { dayOf, daySeconds, secondOf, startOfDay } from '../../../commands/uptime/definition.ts';
import { type Leasing, whileHeld } from '../../../engine/log/leases.ts';
import type { Log } from '../../../engine/log/log.ts';
import type { Logger } from '../../../kit/logger.ts';
import { repeat } from '../../../kit/repeat.ts';
import { dispatch } from '../../bus.ts';

/** The part of the log that the closing of days needs. */
export type UptimeLog = FactLog & Pick<Log, 'lastOfAll' | 'history'>;

/** What the closing of days works with. */
export type ClosingOptions = Readonly<{
  log: UptimeLog;
  /** The signed tree of PROBES, where there is one. */
  tree: () => Promise<CloseDays['tree']>;
  /** Milliseconds since 1970. */
  clock: () => number;
  logger: Logger;
  signal: AbortSignal;
}>;

/** What was written late, as after the broker was away, counts in its day for so long. */
const closedAfterMs = 3_600_000;
const everyMs = 60_000;

/**
 * Closes the day of every node an hour after it is over, by UTC, and what was not closed before; until the signal ends
 * it. One replica at a time does so, under the lease `uptime`.
 *
 * @example await runClosing({ log, leases, tree, clock: () => Date.now(), logger, signal })
 */
export function runClosing({ leases, ...options }: ClosingOptions & Readonly<{ leases: Leasing }>): Promise<void> {
  return leases.hold('uptime', options.signal, async ({ signal }) => {
    const held = { ...options, log: whileHeld(options.log, signal), signal };
    let closedBefore = '';
    const closeOnce = async (): Promise<void> => {
      const before = dayOf(Math.floor((options.clock() - closedAfterMs) / 1000));
      if (before <= closedBefore) return;
      await closeBefore(before, held);
      closedBefore = before;
    };
    await repeat('days could not be closed', closeOnce, { everyMs, log: options.logger, signal });
  });
}

/**
 * Closes all days before one, node by node; safe to repeat and to interrupt anywhere: what is closed stays, the rest
 * follows.
 */
export async function closeBefore(before: string, options: ClosingOptions): Promise<void> {
  const { log, tree, clock, logger, signal } = options;
  const nodes = await nodesIn(log, before);
  if (nodes.open.size === 0) return;
  const blindMinutes = await minutesWithoutNodes(options, nodes, before);
  const common = { before, blindMinutes, tree: await tree() };
  let days = 0;
  for (const [node, after] of nodes.open) {
    signal.throwIfAborted();
    const probes = await probesOf(log, { node, after, before });
    const command = new CloseNodeDays(new Map([[node, { ...common, node, probes }]]), {
      at: new Date(clock()).toISOString(),
    });
    days += (await dispatch(log, command)).facts;
  }
  logger.info({ days, nodes: nodes.open.size, before }, 'days of nodes closed');
}

/** All nodes that were ever probed, and those of which the day before is not closed. */
type Nodes = Readonly<{
  all: readonly string[];
  /** With the sequence after which their open probes lie. */
  open: ReadonlyMap<string, number>;
  /** Seconds since 1970: no open day is before it. */
  from: number;
}>;

async function nodesIn(log: UptimeLog, before: string): Promise<Nodes> {
  const closed = await log.lastOfAll('day');
  const all = [...(await log.lastOfAll('probe')).keys()];
  const open = new Map<string, number>();
  let from = startOfDay(before);
  for (const node of all) {
    const last = closed.get(node)?.fact;
    const end = last?.type === 'NodeDayClosed' ? startOfDay(last.data.day) + daySeconds : -Infinity;
    if (end >= startOfDay(before)) continue;
    from = Math.min(from, end);
    open.set(node, last?.type === 'NodeDayClosed' ? last.data.known.lastSequence : 0);
  }
  return { all, open, from };
}

type ProbesWanted = Readonly<{ node: string; after: number; before: string }>;

/** The probes of a node after a sequence, up to the first of the day that is still open. */
async function probesOf(log: UptimeLog, { node, after, before }: ProbesWanted): Promise<SeenProbe[]> {
  const end = startOfDay(before);
  const probes: SeenProbe[] = [];
  for await (const page of log.history('probe', node, after)) {
    const within = page.map(seen).filter((one) => one !== undefined);
    const beyond = within.findIndex(({ at }) => secondOf(at) >= end);
    probes.push(...(beyond < 0 ? within : within.slice(0, beyond)));
    if (beyond >= 0) break;
  }
  return probes;
}

function seen({ fact, sequence }: Recorded): SeenProbe | undefined {
  if (fact.type !== 'ProbeSucceeded' && fact.type !== 'ProbeFailed') return undefined;
  return { ...outcomeOf(fact), sequence, tookMs: fact.data.tookMs };
}

/**
 * Minutes in which two nodes or more were probed and every probe found no way to any port: the failure is ours.
 *
 * All nodes count, closed ones too, so that an interrupted closing continues with the same minutes. They are read only
 * until one was reached in every minute: most days a few of them are enough.
 */
async function minutesWithoutNodes(
  { log, signal }: ClosingOptions,
  { all, open, from }: Nodes,
  before: string,
): Promise<ReadonlySet<number>> {
  const minutes = minuteOf(startOfDay(before)) - minuteOf(from);
  const after = Math.min(...open.values());
  const reached = new Set<number>();
  const unreached = new Map<number, Set<string>>();
  for (const node of all) {
    signal.throwIfAborted();
    for (const probe of await probesOf(log, { node, after, before })) {
      const minute = minuteOf(secondOf(probe.at));
      if (minute < minuteOf(from)) continue;
      if (isUnreachable(probe)) unreached.set(minute, (unreached.get(minute) ?? new Set()).add(node));
      else reached.add(minute);
    }
    if (reached.size >= minutes) break;
  }
  const ours = [...unreached].filter(([minute, nodes]) => nodes.size > 1 && !reached.has(minute));
  return new Set(ours.map(([minute]) => minute));
}
