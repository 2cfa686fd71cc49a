import { wideComments } from './comment-width.mjs';
import { missingDocstrings } from './docstrings.mjs';
import { lockProblems } from './lock-file.mjs';
import { coverage } from '../rows/coverage.mjs';
import { root } from '../boot/paths.mjs';
import { installed } from './steps.mjs';
import { unreadableByNode } from './strippable.mjs';
import { unwantedNames } from './words.mjs';

/** What did not change since the last check is not parsed again: 21.7 s of a core become 2.4, types 12.0 become 1.6. */
const byContent = ['--cache', '--cache-strategy', 'content'];
const remembered = ['--tsBuildInfoFile', 'node_modules/.cache/types.json'];
const pages = 'src/edges/indexer/pages/public';
const rememberedPages = ['--tsBuildInfoFile', 'node_modules/.cache/types-of-pages.json'];

/** Each of the long ones uses one core for most of its time: 58 s become 43 on two. */
export const checksAtOnce = 2;

/** Everything that can be looked at without a server, cheap steps first. */
export const checks = [
  { name: 'lock file', work: () => lockProblems('package-lock.json') },
  { name: 'lock file of Node', work: () => lockProblems('tools/node/package-lock.json') },
  { name: 'lock file of PostgreSQL 13', work: () => lockProblems('tools/postgres-13/package-lock.json') },
  { name: "lock file of the bench's peers", work: () => lockProblems('bench/peers/package-lock.json') },
  { name: 'lock file of the clients of others', work: () => lockProblems('test/clients/package-lock.json') },
  {
    name: 'a test for every row of the specifications and every known fault',
    work: async () => (await coverage(root)).problems.join('\n') || undefined,
  },
  {
    name: 'docstrings',
    work: async () =>
      [await missingDocstrings('src'), await missingDocstrings('bench')].filter(Boolean).join('\n') || undefined,
  },
  { name: 'width of comments', work: wideComments },
  { name: 'names of the trade, each type once', work: unwantedNames },
  { name: 'format', work: () => installed('prettier', '--check', ...byContent, '--log-level=warn', '.') },
  { name: 'types', work: () => installed('tsc', '--noEmit', '--project', '.', '--incremental', ...remembered) },
  {
    name: 'types of the pages',
    work: () => installed('tsc', '--noEmit', '--project', pages, '--incremental', ...rememberedPages),
  },
  { name: 'types that Node can strip', work: unreadableByNode },
  { name: 'lint', work: () => installed('oxlint', '--type-aware', '--deny-warnings') },
  { name: 'protobuf schemas', work: () => installed('buf', 'lint') },
];
