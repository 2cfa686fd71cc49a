import type { Recorded } from '../../../src/commands/ports.ts';
import type { Fact } from '../../../src/events/catalogue.ts';
import { type Cells, dataOf, lastOf, livesOf, positionOf } from './lives.ts';

type Tables = Readonly<Record<string, Cells[]>>;

/** The tables of uptime: a day is what its fact says, an incident what the last day that names it says. */
export const expectedUptime = {
  uptime_days: (facts: readonly Recorded[]): Tables => ({
    uptime_days: facts.map(({ fact, sequence }) => {
      const { day, hoursUp, hoursDown, up, down, unknown, firstSequence, lastSequence, ...same } = dayIn(fact);
      const { tree: _, known: __, incidents: ___, ...others } = same;
      return {
        ...others,
        day,
        up_seconds: up,
        down_seconds: down,
        unknown_seconds: unknown,
        hours_up: hoursUp,
        hours_down: hoursDown,
        first_sequence: firstSequence,
        last_sequence: lastSequence,
        position: sequence,
        removed: false,
      };
    }),
    uptime_days_past: [],
  }),
  incidents: (facts: readonly Recorded[]): Tables => {
    const named = facts.flatMap(({ fact, sequence }) => {
      const { node, incidents } = dayIn(fact);
      return incidents.map(({ startedAt, endedAt, statusAnswers, ...same }) => ({
        ...same,
        node,
        started_at: startedAt,
        ended_at: endedAt,
        status_answers: statusAnswers,
        position: sequence,
      }));
    });
    const lives = [...Map.groupBy(named, ({ node, started_at: at }) => `${node} ${at}`).values()];
    return {
      incidents: lives.flatMap((life) => life.slice(-1).map((row) => ({ ...row, removed: false }))),
      incidents_past: lives.flatMap((life) => life.slice(1).map(({ position: until }, at) => ({ ...life[at], until }))),
    };
  },
  uptime_open: (facts: readonly Recorded[]): Tables => ({
    uptime_open: [...livesOf(facts)].map(([node, life]) => {
      const { type, data } = lastOf(life) as Fact<'ProbeFailed' | 'ProbeSucceeded'>;
      const { countedUntil, days = [], incidents = [] } = data.known.open ?? {};
      return {
        node,
        probed_at: data.at,
        passed: type === 'ProbeSucceeded',
        every_seconds: data.everySeconds,
        counted_until: countedUntil,
        days,
        incidents: incidents.filter(({ failures }) => failures >= 2),
        position: positionOf(life),
        removed: false,
      };
    }),
  }),
};

function dayIn(fact: Fact): Fact<'NodeDayClosed'>['data'] {
  const [data] = dataOf([{ fact, id: '', sequence: 0, time: '' }], 'NodeDayClosed');
  if (!data) throw new Error(`A ${fact.type} lies in UPTIME`);
  return data;
}
