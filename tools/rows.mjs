/**
 * Which tests show which row of the API's specification, and the absence of which known fault: writes docs/spec-2-coverage.md
 * and docs/known-faults.md, and fails when a row has none.
 *
 * A test shows a row by carrying its id as a tag at the start of its name: `[S2.actions.limit] takes 1 to 200`.
 */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { root } from './boot/paths.mjs';
import { coverage, lists, report, rowProblems } from './rows/coverage.mjs';

const problems = [];
for (const list of Object.values(lists)) {
  const found = await coverage(root, list);
  await writeFile(path.join(root, list.page), report(found, list));
  problems.push(...rowProblems(found));
}
if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exitCode = 1;
}
