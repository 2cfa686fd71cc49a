import { defineConfig } from 'vitest/config';

/** One nats-server and one PostgreSQL per run (global setup); two workers, because the servers want cores as well. */
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    reporters: ['default', './test/support/tally.ts'],
    pool: 'forks',
    // Every run reads the sources as they are; what a cache on disk saves is less than a second.
    fsModuleCache: false,
    maxWorkers: 2,
    testTimeout: 90_000,
    hookTimeout: 120_000,
  },
});
