import { quantity } from '../executor/block-forms.ts';
import type { ExecutedLog } from '../executor/outcome.ts';
import type { ChainLog } from './chain-blocks.ts';

/** A log as JSON-RPC shows it. */
export type LogForm = Readonly<Record<string, unknown>> & ExecutedLog;

/** Where a log lies. */
type LogPosition = Omit<ChainLog, keyof ExecutedLog | 'logIndex'>;

/** Makes what shows logs of one transaction, by their index in the block: what they have in common is written once. */
export function logForms(within: LogPosition): (log: ExecutedLog, logIndex: number) => LogForm {
  const { transactionHash, blockHash } = within;
  const blockNumber = quantity(within.blockNumber);
  const transactionIndex = quantity(within.transactionIndex);
  const blockTimestamp = quantity(within.timestamp);
  return ({ address, topics, data }, index) => ({
    address,
    topics,
    data,
    blockNumber,
    transactionHash,
    transactionIndex,
    blockHash,
    blockTimestamp,
    logIndex: quantity(index),
    removed: false,
  });
}

/** Shows a log that knows where it lies. */
export const formOfLog = (log: ChainLog): LogForm => logForms(log)(log, log.logIndex);
