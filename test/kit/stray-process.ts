import { createLogger } from '../../src/kit/logger.ts';
import { shutDown, strayFailure } from '../../src/kit/shutdown.ts';

// A process that an error which nobody catches ends through its phases.
const logger = createLogger({ level: 'info', format: 'json' });
const stray = strayFailure(logger);
if (process.argv[2] === 'exception')
  setImmediate(() => {
    throw new Error('nobody caught this');
  });
else void Promise.reject(new Error('nobody caught this'));
const stay = setInterval(() => undefined, 1000);
await stray.catch((err: unknown) => logger.fatal({ err }, 'stopping'));
clearInterval(stay);
await shutDown([{ name: 'flush', capMs: 1000, run: async () => logger.info('flushed') }], logger);
process.exit(3);
