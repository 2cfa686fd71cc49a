import { describe, expect, it } from 'vitest';
import { rangesOf } from '../../../src/edges/http/byte-ranges.ts';

/** Ranges as `first-last`, the other outcomes by their names. */
function shown(header: string | undefined, size: number): string {
  const ranges = rangesOf(header, size);
  return typeof ranges === 'string' ? ranges : ranges.map(({ first, last }) => `${first}-${last}`).join(' ');
}

describe('rangesOf', () => {
  it.each([
    ['bytes=0-0', '0-0'],
    ['bytes=0-', '0-99'],
    ['bytes=99-', '99-99'],
    ['bytes=-1', '99-99'],
    ['bytes=-100', '0-99'],
    ['bytes=-1000', '0-99'],
    ['bytes=10-1000', '10-99'],
    ['Bytes=10-19', '10-19'],
    ['bytes= 10-19 , 30-39', '10-19 30-39'],
    ['bytes=10-19,,30-39,', '10-19 30-39'],
    ['bytes=200-300,5-6', '5-6'],
    ['bytes=0-0,1-1,2-2,3-3,4-4,5-5,6-6,-1', '0-0 1-1 2-2 3-3 4-4 5-5 6-6 99-99'],
    ['bytes=100-', 'unsatisfiable'],
    ['bytes=100-200', 'unsatisfiable'],
    ['bytes=-0', 'unsatisfiable'],
    [`bytes=${'9'.repeat(400)}-`, 'unsatisfiable'],
    [undefined, 'whole'],
    ['', 'whole'],
    ['bytes', 'whole'],
    ['bytes=', 'whole'],
    ['bytes=,', 'whole'],
    ['bytes=-', 'whole'],
    ['bytes=a-b', 'whole'],
    ['bytes=1', 'whole'],
    ['bytes=2-1', 'whole'],
    ['bytes=0-1,2-1', 'whole'],
    ['bytes=1-2-3', 'whole'],
    ['bytes=+1-2', 'whole'],
    ['bytes=0x1-2', 'whole'],
    ['bytes=1.0-2', 'whole'],
    ['bytes = 0-1', 'whole'],
    ['lines=0-1', 'whole'],
    ['bytes=0-0,1-1,2-2,3-3,4-4,5-5,6-6,7-7,8-8', 'whole'],
    ['bytes=0-59,40-79', '0-59 40-79'],
    ['bytes=0-59,40-80', 'whole'],
    ['bytes=0-,0-,0-,0-,0-,0-,0-,0-', 'whole'],
    ['bytes=0-,-1', 'whole'],
  ])('takes %s of 100 bytes as %s', (header, wanted) => {
    expect(shown(header, 100)).toBe(wanted);
  });

  it.each([
    ['bytes=0-', 'unsatisfiable'],
    ['bytes=-0', 'unsatisfiable'],
    ['bytes=-5', 'whole'],
  ])('takes %s of nothing as %s', (header, wanted) => expect(shown(header, 0)).toBe(wanted));

  it('names bytes that there are for every pair of numbers around a small size', () => {
    const size = 6;
    for (let first = 0; first < 9; first += 1)
      for (let last = 0; last < 9; last += 1) {
        const wanted =
          last < first ? 'whole' : first >= size ? 'unsatisfiable' : `${first}-${Math.min(last, size - 1)}`;
        expect(shown(`bytes=${first}-${last}`, size)).toBe(wanted);
        expect(shown(`bytes=-${first}`, size)).toBe(
          first === 0 ? 'unsatisfiable' : `${Math.max(0, size - first)}-${size - 1}`,
        );
      }
  });
});
