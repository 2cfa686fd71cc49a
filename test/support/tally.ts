import { writeFileSync } from 'node:fs';
import type { Reporter, TestCase, TestModule } from 'vitest/node';

/** A run in which more tests than this passed only when they were run again has failed. */
const mostUnsteady = 2;

/**
 * Ends the run with one plain line: `N passed, N failed` (and what was not run, if anything).
 *
 * What failed and passed when it was run again is named before that, with its failure: it is a fault of the program or
 * of the test until somebody knows better. The counts also go to the file that `ANNALS_TALLY` names, for `npm run ok`.
 */
export default class Tally implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): void {
    const count = { passed: 0, failed: unhandled.length, skipped: 0, pending: 0 };
    const unsteady: TestCase[] = [];
    for (const module of modules) {
      const tests = [...module.children.allTests()];
      const states = tests.map((test) => test.result().state);
      for (const state of states) count[state] += 1;
      if (module.state() === 'failed' && !states.includes('failed')) count.failed += 1;
      unsteady.push(...tests.filter((test) => test.diagnostic()?.flaky));
    }
    if (unsteady.length > mostUnsteady) {
      count.passed -= unsteady.length;
      count.failed += unsteady.length;
      process.exitCode = 1;
    }
    const notRun = count.skipped + count.pending;
    const { ANNALS_TALLY } = process.env;
    if (ANNALS_TALLY) writeFileSync(ANNALS_TALLY, JSON.stringify(count));
    process.stdout.write(`\n${unsteady.map(described).join('')}`);
    process.stdout.write(`${count.passed} passed, ${count.failed} failed${notRun ? `, ${notRun} not run` : ''}\n`);
  }
}

function described(test: TestCase): string {
  const failures = (test.result().errors ?? []).map(({ stack, message }) => stack ?? message);
  return `passed only when run again: ${test.module.relativeModuleId} > ${test.fullName}\n${failures.join('\n')}\n\n`;
}
