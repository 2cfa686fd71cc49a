import { startInClone, untilNoneLeft } from './processes.mjs';

const TALLY = /^(\d+) passed, (\d+) failed/gm;
const GONE_WITHIN_MS = 15_000;

/** `npm test` passes and leaves nothing behind. */
export async function checkTests(clone, { time, note }) {
  const tests = startInClone(clone, ['npm', 'test'], 'test.log');
  const code = await time('npm test', () => tests.ended);
  const [tally, , failed] = [...tests.output().matchAll(TALLY)].at(-1) ?? ['no tally', '', ''];
  note('npm test says', tally);
  if (code !== 0 || failed !== '0') {
    throw new Error(
      `npm test ended with ${code}. Its last lines:\n${tests.output().trimEnd().split('\n').slice(-60).join('\n')}`,
    );
  }
  await untilNoneLeft(clone, GONE_WITHIN_MS);
}
