/**
 * npm run ok: whether all is well. Checks, schemas that only grow, generated files that are current, tests; continuous
 * integration runs exactly this. The last line is `N passed, N failed`, where a failed check counts as well.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { checks, checksAtOnce } from './checks/checks.mjs';
import { staleFiles } from './checks/generated.mjs';
import { brokenSchemas } from './checks/schemas-only-grow.mjs';
import { program, runSteps } from './checks/steps.mjs';

const TESTS = 'tests';
const folder = await mkdtemp(path.join(tmpdir(), 'annals-ok-'));
const tally = path.join(folder, 'tally.json');

const tests = () => program('npm', ['test'], { live: true, env: { ...process.env, ANNALS_TALLY: tally } });
const failed = [
  ...(await runSteps(checks, { atOnce: checksAtOnce })),
  ...(await runSteps([
    { name: 'schemas only grow', work: brokenSchemas },
    { name: 'generated files are current', work: staleFiles },
    { name: TESTS, work: tests },
  ])),
];

const counts = JSON.parse(await readFile(tally, 'utf8').catch(() => '{"passed":0,"failed":1}'));
await rm(folder, { recursive: true });
const failedChecks = failed.filter((name) => name !== TESTS).length;
if (failed.length > 0) {
  console.log(`failed: ${failed.join(', ')}`);
  process.exitCode = 1;
}
console.log(`${counts.passed} passed, ${counts.failed + failedChecks} failed`);
