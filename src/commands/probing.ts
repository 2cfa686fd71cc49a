import type { FactOf } from '../events/catalogue.ts';
import { Command, type Decider } from './decider.ts';
import type { ProbeOutcome } from './uptime/definition.ts';
import { openDaysAfter } from './uptime/open-days.ts';

/** The state of a node that every probe repeats. */
export type KnownNode = FactOf<'probe'>['data']['known'];

/** The figures that a node reported about itself. */
export type NodeFigures = NonNullable<KnownNode['figures']>;

/** How a connection to one port went; `not_dialled` where the node's address may not be dialled. */
export type PortResult = 'open' | 'refused' | 'timeout' | 'unreachable' | 'not_dialled';

/** How the request for a node's status went; `not_asked` where its port was not open. */
export type StatusAnswer = 'ok' | 'timeout' | 'malformed' | 'too_large' | 'http_error' | 'not_asked';

/** The result of one probe of one node; an edge has dialled it. */
export type RecordProbe = Readonly<{
  /** Bech32 operator address. */
  node: string;
  /** RFC 3339, UTC, with milliseconds; when the probe ended. */
  at: string;
  ports: readonly Readonly<{ port: number; outcome: PortResult }>[];
  tookMs: number;
  statusAnswer: StatusAnswer;
  /** Of a well-formed status answer. */
  figures?: NodeFigures | undefined;
  /** Services that the status answer names; none without one. */
  reported: readonly string[];
  /** When the probe requested the node's list of services, and the names in it (none where no valid response came). */
  listed?: Readonly<{ at: string; services: readonly string[] }>;
  /** Seconds between two probes of a node, as set. */
  everySeconds?: number | undefined;
}>;

type State = Readonly<{ at: string; known: KnownNode; last?: ProbeOutcome }>;

/** No probe is this late: one that is further behind the known one shows that the clock was set back meanwhile. */
const latestMs = 5 * 60_000;

/**
 * Whether a node passed, and what is known of it from now on: failures in a row, last success, last figures, services.
 *
 * A probe that is not later than the one known decides nothing, unless the clock was set back. A figure or a list of
 * services that an answer leaves out stays as it was last known (spec 2, probe status and figures).
 */
export const probing: Decider<RecordProbe, State, 'probe'> = {
  kind: 'probe',
  initialState: { at: '', known: { consecutiveFailures: 0, services: [] } },
  after: (fact) => ({ at: fact.data.at, known: fact.data.known, last: outcomeOf(fact) }),
  decide(probe, { at: knownAt, known, last }) {
    const { node, at, ports, tookMs, statusAnswer, everySeconds } = probe;
    if (at <= knownAt && Date.parse(knownAt) - Date.parse(at) < latestMs) return [];
    const hasPassed = statusAnswer === 'ok' && ports.every(({ outcome }) => outcome === 'open');
    const open = openDaysAfter(last, known.open, { ...probe, hasPassed });
    const next = { ...known, ...whatWasReported(probe, known), open };
    const interval = everySeconds === undefined ? {} : { everySeconds };
    if (hasPassed) {
      const passed: KnownNode = { ...next, consecutiveFailures: 0, lastSeenAt: at };
      return [{ type: 'ProbeSucceeded', data: { node, at, ports, tookMs, known: passed, ...interval } }];
    }
    const failed: KnownNode = { ...next, consecutiveFailures: known.consecutiveFailures + 1 };
    return [{ type: 'ProbeFailed', data: { node, at, ports, tookMs, statusAnswer, known: failed, ...interval } }];
  },
};

/** A probe of the log as far as uptime depends on it. */
export function outcomeOf({ type, data }: FactOf<'probe'>): ProbeOutcome {
  const statusAnswer = type === 'ProbeFailed' ? data.statusAnswer : 'ok';
  const { at, ports, everySeconds } = data;
  return { at, ports, statusAnswer, everySeconds, hasPassed: type === 'ProbeSucceeded' };
}

/** What probes of some nodes saw. */
export class RecordProbes extends Command<RecordProbe, State> {}

function whatWasReported({ figures, reported, listed }: RecordProbe, known: KnownNode): Partial<KnownNode> {
  const services = [reported, listed?.services ?? []].find((names) => names.length > 0);
  return {
    ...(figures && { figures: { ...known.figures, ...figures } }),
    ...(services && { services }),
    ...(listed && { servicesAskedAt: listed.at }),
  };
}
