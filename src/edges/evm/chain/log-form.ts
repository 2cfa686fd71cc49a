import { quantity } from '../executor/block-forms.ts';
import type { ExecutedLog } from '../executor/outcome.ts';
import type { ChainLog } from './chain-blocks.ts';

/** A log as JSON-RPC shows it. */
export type LogForm = Readonly<Record<string, unknown>> & ExecutedLog;

/** Shows a log. */
export function logForm(log: ChainLog): LogForm {
  return {
    address: log.address,
    topics: log.topics,
    data: log.data,
    blockNumber: quantity(log.blockNumber),
    transactionHash: log.transactionHash,
    transactionIndex: quantity(log.transactionIndex),
    blockHash: log.blockHash,
    blockTimestamp: quantity(log.timestamp),
    logIndex: quantity(log.logIndex),
    removed: false,
  };
}
