import { defineConfig } from 'vitest/config';

/** One nats-server and one PostgreSQL per run (global setup); two workers, because the servers want cores as well. */
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    reporters: ['default', './test/support/tally.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
