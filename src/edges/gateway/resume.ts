import { toAppError } from '../../commands/errors.ts';
import { OpenTransfers } from '../../projections/transfers/queries.ts';
import { ask } from '../bus.ts';
import type { Logger } from '../kit/logger.ts';
import { wait } from '../kit/wait.ts';
import type { GatewayDependencies } from './rest/dependencies.ts';
import type { Runner } from './tasks/runner.ts';

const resumeEachMs = 1_000;

/** What taking tasks up again needs. */
export type Resuming = Pick<GatewayDependencies, 'reader'> & Readonly<{ logger: Logger; runner: Runner }>;

/** Goes on with what was under way, once the read model can be asked; ends with the signal. */
export async function resumeTransfers({ reader, logger, runner }: Resuming, signal: AbortSignal): Promise<void> {
  const since = new Date(0).toISOString();
  while (!signal.aborted) {
    try {
      const open = await reader.read((reading) => ask(reading, new OpenTransfers({ since })));
      return await runner.resume(open.map(({ task }) => task));
    } catch (caught) {
      const err = toAppError(caught);
      if (err.code !== 'UNAVAILABLE') logger.error({ err }, 'transfers were not taken up again');
      await wait(resumeEachMs, signal);
    }
  }
}
