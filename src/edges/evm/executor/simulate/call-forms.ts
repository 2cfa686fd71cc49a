import type { Block } from '@ethereumjs/block';
import { quantity } from '../block-forms.ts';
import { executionCodes } from '../execution-error.ts';
import { callFailure } from '../revert-reason.ts';
import type { SimulatedCall } from './simulated-calls.ts';
import { hexOf } from '../outcome.ts';

/** Calls of a simulated block as `eth_simulateV1` shows them. */
export function callForms(block: Block, calls: readonly SimulatedCall[]): readonly Readonly<Record<string, unknown>>[] {
  const position = { blockNumber: quantity(block.header.number), blockHash: hexOf(block.hash()) };
  return calls.map((call, index) => {
    const { tx, result, logs } = call;
    const { exceptionError, returnValue } = result.execResult;
    const failure = exceptionError && callFailure(exceptionError.error, returnValue);
    const reverted = failure?.code === executionCodes.reverted;
    return {
      returnData: failure ? '0x' : hexOf(returnValue),
      logs: logs.map(({ index: logIndex, ...log }) => ({
        ...log,
        ...position,
        transactionHash: hexOf(tx.hash()),
        transactionIndex: quantity(index),
        blockTimestamp: quantity(block.header.timestamp),
        logIndex: quantity(logIndex),
        removed: false,
      })),
      gasUsed: quantity(result.totalGasSpent),
      maxUsedGas: quantity(mostGas(call)),
      status: failure ? '0x0' : '0x1',
      ...(failure && {
        error: {
          code: reverted ? failure.code : executionCodes.machine,
          message: failure.message,
          ...(reverted && { data: failure.data }),
        },
      }),
    };
  });
}

/** The gas that a call needed at its peak, before refunds. */
function mostGas({ tx, result }: SimulatedCall): bigint {
  const peak = result.execResult.executionGasUsed + tx.getIntrinsicGas();
  return peak > result.totalGasSpent ? peak : result.totalGasSpent;
}
