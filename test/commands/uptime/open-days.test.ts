import { describe, expect, it } from 'vitest';
import { probing, type RecordProbe } from '../../../src/commands/probing.ts';
import { closing } from '../../../src/commands/uptime/closing.ts';
import { percentilesOf, sketchOf } from '../../../src/commands/uptime/sketch.ts';
import { outcomeOf } from '../../../src/commands/probing.ts';
import { given } from '../../support/histories/given.ts';
import { seeded } from '../../support/histories/simulated-probes.ts';
import { trueShare } from '../../support/expected/uptime-truth.ts';

const node = 'valoper1a';

/** A probe so many seconds after midnight. */
function probe(seconds: number, isOpen = true, everySeconds = 60): RecordProbe {
  const at = new Date(Date.UTC(2026, 10, 21) + seconds * 1000).toISOString();
  const ports = [4444, 4445, 8002].map((port) => ({
    port,
    outcome: isOpen ? ('open' as const) : ('timeout' as const),
  }));
  return { node, at, ports, tookMs: 5, statusAnswer: isOpen ? 'ok' : 'not_asked', reported: [], everySeconds };
}
const openOf = (...probes: RecordProbe[]) => given(probing).when(...probes).state.known.open;

describe('the open days of a probe', () => {
  it('count the time since the probe before, which that one decides', () => {
    expect(openOf(probe(0), probe(60), probe(120, false), probe(180), probe(1000))).toMatchObject({
      countedUntil: '2026-11-21T00:16:40Z',
      days: [{ day: '2026-11-21', up: 120 + 150, down: 60, probes: 5, failed: 1 }],
      incidents: [],
    });
  });

  it('hold the last two days, and incidents of two failures or more', () => {
    const failing = [86_340, 86_400, 86_460].map((seconds) => probe(seconds, false));
    const open = openOf(probe(86_280), ...failing, probe(86_520));
    expect(open?.days).toMatchObject([
      { day: '2026-11-21', up: 60, down: 60 },
      { day: '2026-11-22', up: 0, down: 120, probes: 3, failed: 2 },
    ]);
    expect(open?.incidents).toMatchObject([
      { startedAt: '2026-11-21T23:59:00Z', endedAt: '2026-11-22T00:02:00Z', failures: 3 },
    ]);
    expect(openOf(probe(0), probe(3 * 86_400))?.days.map(({ day }) => day)).toEqual(['2026-11-24']);
  });

  it('are as the closing of the day counts it later', () => {
    const random = seeded(7);
    let seconds = 0;
    const probes = Array.from({ length: 600 }, () => probe((seconds += Math.ceil(random() * 200)), random() > 0.3));
    const inDay = [...probes.filter(({ at }) => at < '2026-11-21T20'), probe(86_399), probe(86_400)];
    const { history, state } = given(probing).when(...inDay);
    const seen = history.map((fact, index) => ({ ...outcomeOf(fact), sequence: index + 1, tookMs: fact.data.tookMs }));
    const command = { node, probes: seen, before: '2026-11-22', blindMinutes: new Set<number>() };
    const [closed] = given(closing).when(command).facts;
    const { up, down, probes: count, failed } = state.known.open?.days[0] ?? {};
    expect(closed?.data).toMatchObject({ up, down, probes: count, failed });
    expect(closed?.data.incidents.slice(-15)).toEqual(state.known.open?.incidents.slice(-15));
  });

  it('never grow beyond sixteen incidents', () => {
    const probes = Array.from({ length: 200 }, (_, index) => probe(index * 60, index % 3 === 0));
    expect(openOf(...probes)?.incidents).toHaveLength(16);
  });
});

describe('a sketch of times', () => {
  it('gives percentiles within 2 %, and the same ones however it was split', () => {
    const random = seeded(3);
    const times = Array.from({ length: 5_000 }, () => Math.round(1 + 9_000 * random() ** 5));
    const ordered = times.toSorted((a, b) => a - b);
    const shares = [0, 0.01, 0.5, 0.9, 0.99, 1];
    const merged = percentilesOf([sketchOf(times.slice(0, 700)), sketchOf(times.slice(700))], shares) ?? [];
    expect(merged).toEqual(percentilesOf([sketchOf(times.toReversed())], shares));
    for (const [index, share] of shares.entries()) {
      const truth = trueShare(ordered, share);
      expect(Math.abs((merged[index] ?? 0) - truth) / truth).toBeLessThanOrEqual(0.0201);
    }
    expect(percentilesOf([sketchOf([])], shares)).toBeUndefined();
  });
});
