/** Closes the days of nodes as a process of its own, to be killed; prints a line for each node that it has closed. */
import { connectNats } from '../../../../src/engine/log/connection.ts';
import { createLog } from '../../../../src/engine/log/log.ts';
import { closeBefore } from '../../../../src/edges/indexer/uptime/closer.ts';
import { createLogger } from '../../../../src/kit/logger.ts';

const [url = '', user = '', pass = '', network = '', before = ''] = process.argv.slice(2);
const nc = await connectNats({ url, user, pass, name: 'closing' });
const log = createLog(nc, network);
await closeBefore(before, {
  log: {
    ...log,
    append: async (decisions, cause) => {
      const appended = await log.append(decisions, cause);
      process.stdout.write(`${decisions[0]?.entity}\n`);
      return appended;
    },
  },
  tree: async () => undefined,
  clock: () => Date.now(),
  logger: createLogger({ level: 'error', format: 'json' }),
  signal: new AbortController().signal,
});
await nc.close();
