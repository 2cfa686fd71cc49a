import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { defineConfig } from 'vitest/config';

const e2e = 'test/e2e/**/*.test.ts';
const clients = 'test/clients/*.test.ts';

/** The rows that tests name as their tags: `--tags-filter=S2.actions.limit` runs the tests of a row. */
const lists = path.join(import.meta.dirname, 'test/rows');
const tags = readdirSync(lists)
  .map((name) => JSON.parse(readFileSync(path.join(lists, name), 'utf8')) as { rows: { id: string; what: string }[] })
  .flatMap(({ rows }) => rows.map(({ id, what }) => ({ name: id, description: what })));

/**
 * One nats-server and one PostgreSQL per project; two workers, because the servers want cores as well. What starts
 * whole programs comes afterwards, one file at a time: those judge how programs behave, not how they starve beside one
 * another. Last come the clients of others, which are installed then.
 */
export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    reporters: ['default', './test/support/tally.ts'],
    pool: 'forks',
    // Every run reads the sources as they are; what a cache on disk saves is less than a second.
    fsModuleCache: false,
    tags,
    maxWorkers: 2,
    testTimeout: 90_000,
    hookTimeout: 120_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'parts',
          include: ['test/**/*.test.ts'],
          exclude: [e2e, clients, '**/node_modules/**'],
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: { name: 'e2e', include: [e2e], fileParallelism: false, maxWorkers: 1, sequence: { groupOrder: 1 } },
      },
      {
        extends: true,
        test: {
          name: 'clients',
          include: [clients],
          globalSetup: ['test/support/install-clients.ts'],
          fileParallelism: false,
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
