import { describe, expect, it } from 'vitest';
import { AppError } from '../../src/kit/errors.ts';
import { describeError } from '../../src/kit/logger.ts';

describe('describeError', () => {
  it('says of an expected error what was found, without the place in the code', () => {
    const cause = new Error('connection refused');
    const fields = describeError(new AppError('UNAVAILABLE', 'The chain did not answer', { cause }));
    expect(fields).toMatchObject({ code: 'UNAVAILABLE', message: 'The chain did not answer: connection refused' });
    expect(fields).not.toHaveProperty('stack');
  });

  it('keeps the place in the code of an unexpected one', () => {
    expect(describeError(new TypeError('no such field'))).toMatchObject({
      stack: expect.stringContaining('logger.test'),
    });
  });
});
