import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { defineConfig } from 'vitest/config';
import LongestFirst from './test/support/longest-first.ts';

const e2e = ['test/e2e/**/*.test.ts', 'test/infra/observed.test.ts'];
/** What goes on by the clock while it waits, or gives way to everybody: beside another it takes thrice as long. */
const alone = ['test/e2e/kills.test.ts', 'test/e2e/replay-readers.test.ts'];
/** Complete programs take long to start on a busy machine. */
const patient = { testTimeout: 300_000, hookTimeout: 300_000 };
const twoAtOnce = { ...patient, maxWorkers: 2, sequence: { groupOrder: 2 } };
const clients = 'test/clients/*.test.ts';

/** The rows that tests name as their tags: `--tags-filter=S2.actions.limit` runs the tests of a row. */
const lists = path.join(import.meta.dirname, 'test/rows');
const tags = readdirSync(lists)
  .map((name) => JSON.parse(readFileSync(path.join(lists, name), 'utf8')) as { rows: { id: string; what: string }[] })
  .flatMap(({ rows }) => rows.map(({ id, what }) => ({ name: id, description: what })));

/**
 * One nats-server and one PostgreSQL per project. Tests of parts wait for those servers about a third of their time, so
 * three workers keep two cores busy; a worker loads a module once for all of its files, so no module of a test holds
 * what another file may see. Files that start complete programs come afterwards, some alone, then the others two at a
 * time, each in a process of its own, and so do the clients of others, which are installed before.
 */
export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    reporters: ['default', './test/support/tally.ts'],
    pool: 'forks',
    sequence: { sequencer: LongestFirst },
    // Every run reads the sources as they are; what a cache on disk saves is less than a second.
    fsModuleCache: false,
    tags,
    expect: { poll: { timeout: 60_000, interval: 25 } },
    testTimeout: 150_000,
    hookTimeout: 180_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'parts',
          include: ['test/**/*.test.ts'],
          exclude: [...e2e, clients, '**/node_modules/**'],
          setupFiles: ['test/support/each-file.ts'],
          // What is new at a time is more than in the program: a larger place for it is looked through less often.
          execArgv: ['--min-semi-space-size=32', '--max-semi-space-size=64'],
          isolate: false,
          maxWorkers: 3,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: { name: 'alone', include: alone, ...patient, maxWorkers: 1, sequence: { groupOrder: 1 } },
      },
      {
        extends: true,
        test: { name: 'e2e', include: e2e, exclude: [...alone, '**/node_modules/**'], ...twoAtOnce },
      },
      {
        extends: true,
        test: {
          name: 'clients',
          include: [clients],
          globalSetup: ['test/support/programs/install-clients.ts'],
          ...twoAtOnce,
        },
      },
    ],
  },
});
