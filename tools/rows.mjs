/**
 * Which tests show which row of the specifications, and the absence of which known fault: writes the page of each list
 * in test/rows, and fails when a row has no test.
 *
 * A test shows a row by carrying its id as a tag: `it('takes 1 to 200', { tags: ['S2.actions.limit'] }, ...)`. The same
 * tags choose tests: `npm test -- --tags-filter=S2.actions.limit`.
 */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { root } from './boot/paths.mjs';
import { coverage, report } from './rows/coverage.mjs';

const { lists, problems } = await coverage(root);
for (const list of lists) await writeFile(path.join(root, list.page), report(list));
if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exitCode = 1;
}
