import type { Logger } from '../../../kit/logger.ts';
import { repeat } from '../../../kit/repeat.ts';
import type { Log } from '../../../engine/log/log.ts';
import type { TransferFiles } from './files.ts';
import { findTask } from './task-log.ts';

const eachMs = 60_000;

/** Options of the sweep of the transfers' folder. */
export type Sweeping = Readonly<{ log: Log; files: TransferFiles; keepMs: number; tempMs: number; logger: Logger }>;

/** Removes every minute the files whose time is over and those that belong to no task, until the signal aborts. */
export async function keepSwept({ log, files, keepMs, tempMs, logger }: Sweeping, signal: AbortSignal): Promise<void> {
  const isOpen = async (task: string): Promise<boolean> => (await findTask(log, task))?.known.ended === false;
  const sweep = (): Promise<void> => files.sweep({ keepMs, tempMs, isOpen });
  await repeat('the folder of transfers was not swept', sweep, { everyMs: eachMs, log: logger, signal });
}
