import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nanosOf, parseNamedInstant, parsePositions } from '../../../src/edges/http/positions.ts';
import { positionToken } from '../../../src/edges/indexer/rest/headers.ts';

const incarnation = '2026-01-31T12:00:00Z';
const tokenOf = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('parsePositions', () => {
  it('reads what positionToken writes, and nothing else', () => {
    const followed = [
      { stream: 'NODES', incarnation, sequence: 7 },
      { stream: 'ACTIONS', incarnation, sequence: 0 },
    ] as const;
    const positions = parsePositions(positionToken(followed));
    expect([...(positions ?? [])]).toEqual([
      ['ACTIONS', { incarnation, sequence: 0 }],
      ['NODES', { incarnation, sequence: 7 }],
    ]);
    const wrong = [
      { ACTIONS: [incarnation, -1] },
      { ACTIONS: [incarnation, 1.5] },
      { ACTIONS: [incarnation, '1'] },
      { ACTIONS: [7, 7] },
      { ACTIONS: 7 },
      { ACTIONS: [incarnation, 7], NOTHING: [incarnation, 7] },
      { TRANSFERS: [incarnation, 7] },
      {},
      [],
      null,
      7,
    ];
    for (const value of wrong) expect(parsePositions(tokenOf(value)), JSON.stringify(value)).toBeUndefined();
    fc.assert(fc.property(fc.string(), (text) => parsePositions(text) === undefined));
  });
});

describe('parseNamedInstant', () => {
  it('takes a token, a time and a place of a public stream', () => {
    expect(parseNamedInstant('as_of', 'ACTIONS:42')).toEqual({ place: { stream: 'ACTIONS', sequence: 42 } });
    expect(parseNamedInstant('as_of', '1970-01-01T00:00:01.5Z')).toEqual({ nanos: 1_500_000_000n });
    expect(parseNamedInstant('as_of', tokenOf({ ACTIONS: [incarnation, 7] }))).toEqual({
      positions: new Map([['ACTIONS', { incarnation, sequence: 7 }]]),
    });
  });

  it('refuses everything else by a code of its own', () => {
    for (const text of [
      '',
      'yesterday',
      'ACTIONS:',
      'ACTIONS:-1',
      'actions:1',
      'TRANSFERS:1',
      'POOL:1',
      '2026-01-31',
      'é',
    ])
      expect(() => parseNamedInstant('as_of', text), text).toThrow(
        expect.objectContaining({ code: 'INVALID_INSTANT', message: expect.stringContaining('as_of is') }),
      );
  });
});

describe('nanosOf', () => {
  it('keeps nine digits of a second', () => {
    expect(nanosOf('1970-01-01T00:00:00.123456789123Z')).toBe(123_456_789n);
    expect(nanosOf('1970-01-01T01:00:00+01:00')).toBe(0n);
    expect(nanosOf('1969-12-31T23:59:59.25Z')).toBe(-750_000_000n);
  });
});
