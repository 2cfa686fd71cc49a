/**
 * Which tests show which row of the API's specification: writes docs/spec-2-coverage.md, and fails when a row has none.
 *
 * A test shows a row by carrying its id as a tag at the start of its name: `[S2.actions.limit] takes 1 to 200`.
 */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { root } from './boot/paths.mjs';
import { coverage, report, rowProblems } from './rows/coverage.mjs';

const found = await coverage(root);
await writeFile(path.join(root, 'docs/spec-2-coverage.md'), report(found));
const problems = rowProblems(found);
if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exitCode = 1;
}
