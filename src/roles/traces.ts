import type { Config } from '../config.ts';
import type { Logger } from '../kit/logger.ts';
import type { Phase } from '../kit/shutdown.ts';
import { startTracing } from '../kit/tracing/tracing.ts';
import { ownVersion } from '../kit/version.ts';
import { tracesOf } from './role.ts';

/** Records the traces of this process where a receiver is set; returns the last phase of its end: their export. */
export async function startTraces(config: Config, logger: Logger): Promise<Phase> {
  const stop = await startTracing(tracesOf(config, await ownVersion()), logger);
  return { name: 'traces', capMs: 3000, run: stop };
}
