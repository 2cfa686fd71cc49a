import type { FactOf } from '../../events/catalogue.ts';
import { type ProbeOutcome, secondOf, timeOfSecond } from './definition.ts';

/** Failures in a row, as facts carry them. */
export type Outage = NonNullable<FactOf<'probe'>['data']['known']['open']>['incidents'][number];

/** Failures in a row from which on they are an incident; fewer count as time down only. */
const leastFailures = 2;

/** Returns whether failures in a row are enough to be an incident. */
export function isIncident({ failures }: Outage): boolean {
  return failures >= leastFailures;
}

/** The failures in a row after one more probe; those of a node that passed end there. */
export function outageAfter(open: Outage | undefined, probe: ProbeOutcome): Outage | undefined {
  const at = timeOfSecond(secondOf(probe.at));
  if (probe.hasPassed) return open && inOrder({ ...open, endedAt: at });
  const before = open ?? { startedAt: at, failures: 0, ports: [], statusAnswers: [] };
  return inOrder({
    startedAt: before.startedAt,
    failures: before.failures + 1,
    ports: portsSeen(before.ports, probe),
    statusAnswers: answersSeen(before.statusAnswers, probe),
  });
}

/** Fields in the order of the schema, in which events are written. */
function inOrder({ startedAt, endedAt, failures, ports, statusAnswers }: Outage): Outage {
  return { startedAt, ...(endedAt !== undefined && { endedAt }), failures, ports, statusAnswers };
}

function portsSeen(before: Outage['ports'], { ports }: ProbeOutcome): Outage['ports'] {
  const closed = ports.filter(({ outcome }) => outcome !== 'open').map(({ port, outcome }) => ({ port, outcome }));
  const isNew = (one: Outage['ports'][number]) =>
    !before.some(({ port, outcome }) => port === one.port && outcome === one.outcome);
  return [...before, ...closed.filter(isNew)].toSorted(
    (a, b) => a.port - b.port || (a.outcome < b.outcome ? -1 : Number(a.outcome > b.outcome)),
  );
}

function answersSeen(before: Outage['statusAnswers'], { statusAnswer }: ProbeOutcome): Outage['statusAnswers'] {
  const isOfUse = statusAnswer !== 'ok' && statusAnswer !== 'not_asked' && !before.includes(statusAnswer);
  return isOfUse ? [...before, statusAnswer].toSorted() : before;
}
