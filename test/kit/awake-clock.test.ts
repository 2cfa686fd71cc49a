import { expect, it } from 'vitest';
import { createAwakeClock } from '../../src/kit/wait.ts';
import { standStill } from '../support/stand-still.ts';

it('counts nothing before a mark, one check late, and of a stand-still no more than one check', () => {
  const clock = createAwakeClock(10);
  const checkAfter = (ms: number): void => {
    standStill(ms);
    clock.check();
  };
  checkAfter(12);
  checkAfter(12);
  const mark = clock.mark();
  const counted = [12, 12, 900, 12].map((ms) => {
    checkAfter(ms);
    return clock.now() - mark;
  });
  expect(counted).toEqual([0, 10, 20, 30]);
});
