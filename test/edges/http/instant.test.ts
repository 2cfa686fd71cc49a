import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isInOrder, parseInstant, secondFrom, secondUntil } from '../../../src/edges/http/instant.ts';

const parsed = (text: string) => {
  const instant = parseInstant(text);
  if (!instant) throw new Error(`${text} is no time`);
  return instant;
};

describe('parseInstant', () => {
  it('takes any offset and any fraction', { tags: ['S2.stats.from'] }, () => {
    expect(parsed('2026-01-31T12:00:00+01:00')).toEqual(parsed('2026-01-31T11:00:00Z'));
    expect(parsed('2026-01-31t12:00:00.000z')).toEqual({
      seconds: Date.UTC(2026, 0, 31, 12) / 1000,
      hasFraction: false,
    });
    expect(parsed('2026-01-31T12:00:00.0000000001-23:59').hasFraction).toBe(true);
    expect(parsed('2016-12-31T23:59:60Z')).toEqual(parsed('2017-01-01T00:00:00Z'));
    expect(parsed('0000-02-29T00:00:00Z').seconds).toBeLessThan(0);
  });

  it('refuses everything else', { tags: ['S2.open.parameter'] }, () => {
    const wrong = [
      '',
      '2026-01-31',
      '2026-01-31T12:00Z',
      '2026-01-31T12:00:00',
      '2026-01-31 12:00:00Z',
      '2026-1-31T12:00:00Z',
      '2026-02-29T12:00:00Z',
      '2026-00-01T12:00:00Z',
      '2026-01-00T12:00:00Z',
      '2026-01-31T24:00:00Z',
      '2026-01-31T12:60:00Z',
      '2026-01-31T12:00:60Z',
      '2026-01-31T12:00:00.Z',
      '2026-01-31T12:00:00+1:00',
      '2026-01-31T12:00:00+24:00',
      '2026-01-31T12:00:00 01:00',
      '+002026-01-31T12:00:00Z',
      ' 2026-01-31T12:00:00Z',
      '2026-01-31T12:00:00Z ',
    ];
    expect(wrong.filter((text) => parseInstant(text) !== undefined)).toEqual([]);
  });

  it('agrees with the platform about every time that it writes', () => {
    const range = { min: new Date('0000-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true };
    fc.assert(
      fc.property(fc.date(range), (date) => {
        expect(parsed(date.toISOString())).toEqual({
          seconds: Math.floor(date.getTime() / 1000),
          hasFraction: date.getTime() % 1000 !== 0,
        });
      }),
    );
  });
});

describe('secondFrom, secondUntil', () => {
  it('close in on whole seconds, within the years of four digits', { tags: ['S2.stats.from', 'S2.stats.to'] }, () => {
    const half = parsed('2026-01-31T12:00:00.5Z');
    expect([secondFrom(half), secondUntil(half)]).toEqual(['2026-01-31T12:00:01Z', '2026-01-31T12:00:00Z']);
    const whole = parsed('2026-01-31T12:00:00Z');
    expect([secondFrom(whole), secondUntil(whole)]).toEqual(['2026-01-31T12:00:00Z', '2026-01-31T12:00:00Z']);
    expect(secondFrom(parsed('0000-01-01T00:00:00+23:59'))).toBe('0000-01-01T00:00:00Z');
    expect(secondUntil(parsed('9999-12-31T23:59:59-23:59'))).toBe('9999-12-31T23:59:59Z');
  });
});

describe('isInOrder', () => {
  it('compares moments, fractions included', () => {
    const [whole, half] = [parsed('2026-01-31T12:00:00Z'), parsed('2026-01-31T12:00:00.5Z')];
    expect([isInOrder(whole, half), isInOrder(half, whole), isInOrder(whole, whole), isInOrder(half, half)]).toEqual([
      true,
      false,
      true,
      true,
    ]);
  });
});
