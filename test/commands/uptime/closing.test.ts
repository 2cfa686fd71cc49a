import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { closing } from '../../../src/commands/uptime/closing.ts';
import type { CloseDays, SeenProbe } from '../../../src/commands/uptime/day-sums.ts';
import { given } from '../../support/histories/given.ts';
import { type ExportedProbe, trueDays } from '../../support/expected/uptime-truth.ts';

const node = 'valoper1a';
const midnight = Date.UTC(2026, 10, 21) / 1000;
const blindMinutes: ReadonlySet<number> = new Set();
const open = [4444, 4445, 8002].map((port) => ({ port, outcome: 'open' }));
const refused = open.map(({ port }, index) => ({ port, outcome: index === 0 ? 'refused' : 'open' }));

/** A probe so many seconds after midnight of the first day. */
function probe(sequence: number, seconds: number, hasPassed = true, changes: Partial<SeenProbe> = {}): SeenProbe {
  const at = new Date((midnight + seconds) * 1000).toISOString();
  const statusAnswer = hasPassed ? 'ok' : 'not_asked';
  return { sequence, at, hasPassed, statusAnswer, ports: hasPassed ? open : refused, tookMs: 100, ...changes };
}

const close = (probes: readonly SeenProbe[], before = '2026-11-22', more: Partial<CloseDays> = {}): CloseDays => ({
  node,
  probes,
  before,
  blindMinutes,
  ...more,
});
/** One probe a minute, failing where a minute is named. */
const minutely = (from: number, to: number, ...failing: number[]): SeenProbe[] =>
  Array.from({ length: to - from }, (_, index) => from + index).map((minute) =>
    probe(minute + 1, minute * 60, !failing.includes(minute)),
  );

describe('closing', () => {
  it('sums up a day of which every minute was probed', () => {
    const { facts } = given(closing).when(close(minutely(0, 1440, 100, 200, 201, 202)));
    expect(facts).toMatchObject([
      {
        type: 'NodeDayClosed',
        data: {
          day: '2026-11-21',
          definition: 'v1',
          up: 86_400 - 240,
          down: 240,
          unknown: 0,
          probes: 1440,
          failed: 4,
          ports: [{ port: 4444, outcome: 'refused', probes: 4 }],
          incidents: [{ startedAt: '2026-11-21T03:20:00Z', endedAt: '2026-11-21T03:23:00Z', failures: 3 }],
          firstSequence: 1,
          lastSequence: 1440,
          known: { lastSequence: 1440, verdict: { state: 'up', until: '2026-11-22T00:01:30Z' } },
        },
      },
    ]);
    expect(facts[0]?.data.hoursDown[1]).toBe(60);
    expect(facts[0]?.data.incidents).toHaveLength(1);
  });

  it('counts time as unknown from two and a half intervals after the last probe on: a stopped prober is not a node that is down', () => {
    const [fact] = given(closing).when(close([...minutely(0, 10), ...minutely(70, 1440)])).facts;
    expect(fact?.data).toMatchObject({ up: 86_400 - 60 * 60 + 90, down: 0, unknown: 60 * 60 - 90 });
    const [failed] = given(closing).when(close([probe(1, 0, false, { everySeconds: 15 })])).facts;
    expect(failed?.data).toMatchObject({ up: 0, down: 37, unknown: 86_400 - 37, incidents: [] });
  });

  it('counts a failure in a minute in which no node was reached as ours: unknown, and no incident', () => {
    const unreachable = open.map(({ port }) => ({ port, outcome: 'unreachable' }));
    const lost = [10, 11, 12].map((minute) => probe(minute + 1, minute * 60, false, { ports: unreachable }));
    const probes = [...minutely(0, 10), ...lost, ...minutely(13, 1440)];
    const minutes = [10, 11, 12].map((minute) => midnight / 60 + minute);
    const ours = given(closing).when(close(probes, '2026-11-22', { blindMinutes: new Set(minutes) })).facts[0];
    expect(ours?.data).toMatchObject({ unknown: 180, down: 0, probes: 1440, failed: 0, incidents: [], ports: [] });
    const theirs = given(closing).when(close(probes)).facts[0];
    expect(theirs?.data).toMatchObject({ unknown: 0, down: 180, failed: 3, incidents: [{ failures: 3 }] });
  });

  it('carries what goes on past midnight: the time of the last probe, and an incident', () => {
    const [first, second] = [minutely(0, 1440, 1439), minutely(1440, 2880, 1440, 1441)];
    const { history } = given(closing).when(close(first), close([...first, ...second], '2026-11-23'));
    expect(history.map(({ data }) => data.incidents)).toMatchObject([
      [],
      [{ startedAt: '2026-11-21T23:59:00Z', endedAt: '2026-11-22T00:02:00Z', failures: 3 }],
    ]);
    expect(history.map(({ data: { up, down, unknown } }) => [up, down, unknown])).toEqual([
      [86_340, 60, 0],
      [86_280, 120, 0],
    ]);
  });

  it('closes a day once, whatever is known later, and days of which nothing is known never', () => {
    const days = close([...minutely(0, 2), ...minutely(2880, 2882)], '2026-11-24');
    const closed = given(closing).when(days);
    expect(closed.history.map(({ data }) => data.day)).toEqual(['2026-11-21', '2026-11-23']);
    expect(given(closing).when(days, days, close(minutely(0, 1440), '2026-11-24')).history).toEqual(closed.history);
    expect(given(closing).when(close([])).facts).toEqual([]);
  });

  it('counts no second twice where the clock was set back', () => {
    const back = minutely(0, 60).map((one) => ({ ...one, sequence: one.sequence + 60, hasPassed: false }));
    const [fact] = given(closing).when(close([...minutely(0, 60), ...back, probe(200, 3600)])).facts;
    expect(fact?.data).toMatchObject({ up: 3540 + 150, down: 60, probes: 121 });
  });

  it('gives the same days whether probes are closed at once or day by day, and those of a second-by-second count', () => {
    const gaps = fc.array(fc.tuple(fc.integer({ min: 1, max: 20_000 }), fc.boolean(), fc.constantFrom(60, 600, 3600)), {
      maxLength: 20,
    });
    fc.assert(
      fc.property(gaps, (steps) => {
        let seconds = 0;
        const probes = steps.map(([gap, hasPassed, everySeconds], index) =>
          probe(index + 1, (seconds += gap), hasPassed, { everySeconds }),
        );
        const days = Array.from({ length: 8 }, (_, index) => `2026-11-${22 + index}`);
        const atOnce = given(closing).when(close(probes, days.at(-1))).history;
        expect(given(closing).when(...days.map((day) => close(probes, day))).history).toEqual(atOnce);
        const exported = probes.map((one): ExportedProbe => ({
          ...one,
          node,
          passed: one.hasPassed,
          everySeconds: one.everySeconds ?? 60,
        }));
        const truth = [...trueDays(exported, midnight, midnight + 8 * 86_400)];
        const isKnown = (key: string) => atOnce.some(({ data }) => key.endsWith(data.day));
        expect(
          Object.fromEntries(atOnce.map(({ data: { day, up, down, unknown } }) => [day, { up, down, unknown }])),
        ).toEqual(
          Object.fromEntries(
            truth
              .filter(([key]) => isKnown(key))
              .map(([key, { up, down, unknown }]) => [key.split(' ')[1], { up, down, unknown }]),
          ),
        );
        for (const [key, { up, down }] of truth) if (!isKnown(key)) expect([key, up, down]).toEqual([key, 0, 0]);
      }),
      { numRuns: 25 },
    );
  });
});
