import { describe, expect, it } from 'vitest';
import { probing, type RecordProbe } from '../../src/commands/probing.ts';
import { given } from '../support/histories/given.ts';

const figures = { version: 'v2.6.2', peerCount: 5, cpuCores: 2 };

function probe(minute: number, changes: Partial<RecordProbe> = {}, ...closed: number[]): RecordProbe {
  const ports = [4444, 4445, 8002].map((port) => ({
    port,
    outcome: closed.includes(port) ? ('refused' as const) : ('open' as const),
  }));
  return {
    node: 'valoper1a',
    at: at(minute),
    ports,
    tookMs: 1004,
    statusAnswer: 'ok',
    figures,
    reported: [],
    ...changes,
  };
}
const at = (minute: number) => `2026-11-21T10:${String(minute).padStart(2, '0')}:00.000Z`;

const history = (...commands: RecordProbe[]) => given(probing).when(...commands).history;
const last = (...commands: RecordProbe[]) => history(...commands).at(-1)?.data.known;

describe('probing', () => {
  it('passes a node whose ports are open and whose status is well-formed', () => {
    expect(history(probe(1))).toEqual([
      {
        type: 'ProbeSucceeded',
        data: {
          node: 'valoper1a',
          at: at(1),
          ports: probe(1).ports,
          tookMs: 1004,
          known: { consecutiveFailures: 0, lastSeenAt: at(1), figures, services: [], open: expect.any(Object) },
        },
      },
    ]);
  });

  it('counts failures in a row and remembers the last success', () => {
    const timeout = { statusAnswer: 'timeout', figures: undefined } as const;
    const facts = history(probe(1, {}, 4444), probe(2, timeout), probe(3), probe(4, {}, 4445, 8002), probe(5, timeout));
    expect(facts.map(({ type, data }) => [type, data.known.consecutiveFailures, data.known.lastSeenAt])).toEqual([
      ['ProbeFailed', 1, undefined],
      ['ProbeFailed', 2, undefined],
      ['ProbeSucceeded', 0, at(3)],
      ['ProbeFailed', 1, at(3)],
      ['ProbeFailed', 2, at(3)],
    ]);
  });

  it('decides nothing on a probe that is not later than the last one', () => {
    expect(history(probe(2), probe(2, {}, 4444), probe(1))).toHaveLength(1);
  });

  it('goes on at once when the clock was set back, however far', () => {
    for (const back of [6, 48 * 60]) {
      const set = new Date(Date.parse(at(1)) - back * 60_000).toISOString();
      const facts = history(probe(1), probe(0, { at: set }, 4444), probe(0, { at: set }));
      expect(facts.map(({ type, data }) => [type, data.at])).toEqual([
        ['ProbeSucceeded', at(1)],
        ['ProbeFailed', set],
      ]);
    }
  });

  it('fails a node that may not be dialled', { tags: ['LS-14'] }, () => {
    const ports = [4444, 4445, 8002].map((port) => ({ port, outcome: 'not_dialled' as const }));
    const [fact] = history(probe(1, { ports, statusAnswer: 'not_asked', figures: undefined }));
    expect(fact).toMatchObject({
      type: 'ProbeFailed',
      data: { statusAnswer: 'not_asked', ports, known: { consecutiveFailures: 1 } },
    });
  });

  it('takes figures from a well-formed answer even where a port is closed', () => {
    expect(last(probe(1, {}, 4444))).toMatchObject({ consecutiveFailures: 1, figures, services: [] });
  });

  it('keeps the last figures known, each for itself', () => {
    const known = last(
      probe(1),
      probe(2, { figures: { version: 'v2.7.0', cpuCores: 4 } }),
      probe(3, { statusAnswer: 'malformed', figures: undefined }),
    );
    expect(known?.figures).toEqual({ version: 'v2.7.0', peerCount: 5, cpuCores: 4 });
  });

  it(
    'takes services as reported, else as listed, and never loses known ones to an empty answer',
    { tags: ['S2.open.nodes.services-list'] },
    () => {
      const listed = (minute: number, ...services: string[]) => ({ listed: { at: at(minute), services } });
      const after = (...commands: RecordProbe[]) => [last(...commands)?.services, last(...commands)?.servicesAskedAt];
      const asked = probe(1, listed(1, 'cascade'));
      expect(after(probe(1))).toEqual([[], undefined]);
      expect(after(probe(1, listed(1)))).toEqual([[], at(1)]);
      expect(after(asked)).toEqual([['cascade'], at(1)]);
      expect(after(asked, probe(2))).toEqual([['cascade'], at(1)]);
      expect(after(asked, probe(2, listed(2)))).toEqual([['cascade'], at(2)]);
      expect(after(asked, probe(2, { reported: ['sense'] }))).toEqual([['sense'], at(1)]);
      expect(after(probe(1, { ...listed(1, 'cascade'), reported: ['sense'] }))).toEqual([['sense'], at(1)]);
    },
  );
});
