import { toAppError } from '../../commands/errors.ts';
import { OpenTransfers } from '../../projections/transfers/queries.ts';
import { ask } from '../bus.ts';
import type { Logger } from '../kit/logger.ts';
import { wait } from '../kit/wait.ts';
import type { GatewayDependencies } from './rest/dependencies.ts';
import type { Runner } from './tasks/runner.ts';

const retryMs = 1_000;
const resumeEachMs = 5_000;

/** What taking tasks up again needs. */
export type Resuming = Pick<GatewayDependencies, 'reader'> & Readonly<{ logger: Logger; runner: Runner }>;

/** Goes on with what was under way here or at a gateway that is gone, at the start and from time to time. */
export async function resumeTransfers({ reader, logger, runner }: Resuming, signal: AbortSignal): Promise<void> {
  const since = new Date(0).toISOString();
  while (!signal.aborted) {
    try {
      const open = await reader.read((reading) => ask(reading, new OpenTransfers({ since })));
      await runner.resume(open.map(({ task }) => task));
      await wait(resumeEachMs, signal);
    } catch (caught) {
      const err = toAppError(caught);
      if (err.code !== 'UNAVAILABLE') logger.error({ err }, 'transfers were not taken up again');
      await wait(retryMs, signal);
    }
  }
}
