import { quantity } from '../executor/block-forms.ts';
import type { ExecutedLog } from '../executor/outcome.ts';
import type { ChainLog } from './chain-blocks.ts';

/** A log as JSON-RPC shows it. */
export type LogForm = Readonly<Record<string, unknown>> & ExecutedLog;

/** Where a log lies. */
type LogPosition = Omit<ChainLog, keyof ExecutedLog | 'logIndex'>;

/** Shows a log of a block. */
export function logForm(log: ExecutedLog, within: LogPosition, logIndex: number): LogForm {
  return {
    address: log.address,
    topics: log.topics,
    data: log.data,
    blockNumber: quantity(within.blockNumber),
    transactionHash: within.transactionHash,
    transactionIndex: quantity(within.transactionIndex),
    blockHash: within.blockHash,
    blockTimestamp: quantity(within.timestamp),
    logIndex: quantity(logIndex),
    removed: false,
  };
}

/** Shows a log that knows where it lies. */
export const formOfLog = (log: ChainLog): LogForm => logForm(log, log, log.logIndex);
