import { describe, expect, it } from 'vitest';
import { AppError, toAppError } from '../../src/kit/errors.ts';

describe('toAppError', () => {
  it('gives an error of ours back as it is', () => {
    const error = new AppError('CONFLICT', 'taken');
    expect(toAppError(error)).toBe(error);
  });

  it('tells a time limit and a cancelled call from what nobody expected', () => {
    const codes = [
      new DOMException('late', 'TimeoutError'),
      new DOMException('stop', 'AbortError'),
      new TypeError('x'),
      'y',
    ].map((caught) => toAppError(caught).code);
    expect(codes).toEqual(['DEADLINE', 'CANCELLED', 'INTERNAL', 'INTERNAL']);
  });
});
