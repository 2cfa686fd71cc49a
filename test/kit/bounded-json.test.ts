import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseBounded, TooComplex } from '../../src/kit/bounded-json.ts';

describe('parseBounded', () => {
  it('gives what JSON.parse gives, brackets in texts and escapes included', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 8 }), (text) => {
        expect(parseBounded(text)).toEqual(JSON.parse(text));
      }),
      { numRuns: 500 },
    );
    expect(parseBounded(JSON.stringify(['[[[{{{,,,"\\', '\\"']), { depth: 1, values: 2 })).toEqual([
      '[[[{{{,,,"\\',
      '\\"',
    ]);
  });

  it('refuses what is too deep or has too many values before parsing it', () => {
    expect(() => parseBounded('['.repeat(8_000_000))).toThrow(TooComplex);
    expect(() => parseBounded('{"a":'.repeat(1_000_000))).toThrow(TooComplex);
    expect(() => parseBounded(`[${'{},'.repeat(2_000_000)}0]`)).toThrow(TooComplex);
    expect(() => parseBounded('[[1]]', { depth: 1, values: 9 })).toThrow(TooComplex);
  });

  it.each(['', '{', '"open', '"\\', '[1,]', 'nonsense', ']]]]'])('fails on %j as JSON.parse does', (text) => {
    expect(() => parseBounded(text)).toThrow(SyntaxError);
  });
});
