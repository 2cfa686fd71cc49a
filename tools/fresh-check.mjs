/**
 * Shows that a fresh clone runs: HEAD is cloned into a temporary folder with an empty HOME and empty caches, `npm
 * start` must come alive and end cleanly, `npm test` must pass. As root this is done twice, as root and as an ordinary
 * user.
 */
import { parseArgs } from 'node:util';
import { freshClone } from './fresh/clone.mjs';
import { leftProcesses } from './fresh/processes.mjs';
import { checkService } from './fresh/service.mjs';
import { stopwatch } from './fresh/stopwatch.mjs';
import { checkTests } from './fresh/tests.mjs';

const USAGE = `Usage: tools/fresh-check [options]

  --user root|nobody|both   whom to try it as (default: both as root, else oneself)
  --no-start                leave out npm start
  --no-test                 leave out npm test
  --keep                    keep the temporary folders, with start.log and test.log
  --caches <folder>         use this folder for the caches instead of empty ones, to repeat quickly
`;

const { values: options } = parseArgs({
  options: {
    user: { type: 'string', default: process.getuid() === 0 ? 'both' : 'self' },
    'no-start': { type: 'boolean', default: false },
    'no-test': { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    caches: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

if (options.help) {
  process.stdout.write(USAGE);
} else {
  const users = options.user === 'both' ? ['root', 'nobody'] : [options.user];
  for (const user of users) if (!(await check(user))) process.exitCode = 1;
}

/** One clone and one user; prints each step as it ends and the reason of a failure. */
async function check(user) {
  console.log(`\nfresh clone as ${user}`);
  const { time, note } = stopwatch();
  const clone = await time('clone', () => freshClone(user, options.caches));
  try {
    if (!options['no-start']) await checkService(clone, { time, note });
    if (!options['no-test']) await checkTests(clone, { time, note });
    note('everything', 'ok');
    return true;
  } catch (error) {
    note('FAILED', error.message);
    for (const { pid } of leftProcesses(clone)) process.kill(pid, 'SIGKILL');
    return false;
  } finally {
    if (options.keep) note('kept', clone.base);
    else clone.remove();
  }
}
