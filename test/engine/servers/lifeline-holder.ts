/** Says so and ends when whoever started it is gone. */
import { watchLifeline } from '../../../src/kit/lifeline.ts';

const alive = setInterval(() => undefined, 1_000);
watchLifeline(() => {
  console.log('gone');
  clearInterval(alive);
});
console.log('watching');
