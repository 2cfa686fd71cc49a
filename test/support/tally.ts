import type { Reporter, TestModule } from 'vitest/node';

/** Ends the run with one plain line: `N passed, N failed` (and what was not run, if anything). */
export default class Tally implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): void {
    const count = { passed: 0, failed: unhandled.length, skipped: 0, pending: 0 };
    for (const module of modules) {
      const tests = [...module.children.allTests()];
      for (const test of tests) count[test.result().state] += 1;
      const brokenOutsideTests = module.state() === 'failed' && !tests.some((test) => test.result().state === 'failed');
      if (brokenOutsideTests) count.failed += 1;
    }
    const notRun = count.skipped + count.pending;
    process.stdout.write(`\n${count.passed} passed, ${count.failed} failed${notRun ? `, ${notRun} not run` : ''}\n`);
  }
}
