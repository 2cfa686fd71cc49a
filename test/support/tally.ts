import { writeFileSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';

/**
 * Ends the run with one plain line: `N passed, N failed` (and what was not run, if anything).
 *
 * The counts also go to the file that `ANNALS_TALLY` names, for `npm run ok`.
 */
export default class Tally implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): void {
    const count = { passed: 0, failed: unhandled.length, skipped: 0, pending: 0 };
    for (const module of modules) {
      const states = [...module.children.allTests()].map((test) => test.result().state);
      for (const state of states) count[state] += 1;
      if (module.state() === 'failed' && !states.includes('failed')) count.failed += 1;
    }
    const notRun = count.skipped + count.pending;
    const { ANNALS_TALLY } = process.env;
    if (ANNALS_TALLY) writeFileSync(ANNALS_TALLY, JSON.stringify(count));
    process.stdout.write(`\n${count.passed} passed, ${count.failed} failed${notRun ? `, ${notRun} not run` : ''}\n`);
  }
}
