import type { BlockHeader } from '@ethereumjs/block';
import type { CallRequest } from '../call-request.ts';
import { executionCodes, ExecutionError } from '../execution-error.ts';
import type { BlockOverrides, StateOverrides } from '../overrides.ts';

/** One block of a simulation, in the form of the request. */
export type BlockStateCalls = Readonly<{
  blockOverrides?: BlockOverrides | undefined;
  stateOverrides?: StateOverrides | undefined;
  calls?: readonly CallRequest[] | undefined;
}>;

/** One block of a simulation, with its position in the chain. */
export type PlannedBlock = Readonly<{
  number: bigint;
  timestamp: bigint;
  overrides: BlockOverrides;
  state: StateOverrides;
  calls: readonly CallRequest[];
}>;

/** Codes of what can be wrong with a simulation, as `eth_simulateV1` fixes them. */
export const simulationCodes = {
  nonceTooLow: -38010,
  nonceTooHigh: -38011,
  baseFeeTooLow: -38012,
  intrinsicGas: -38013,
  insufficientFunds: -38014,
  blockGasLimit: -38015,
  blockNumber: -38020,
  blockTimestamp: -38021,
  movedOntoItself: -38022,
  initCodeSize: -38025,
  tooManyBlocks: -38026,
} as const;

const mostBlocks = 256n;
const secondsBetween = 12n;

/** Puts the blocks of a simulation in order and fills gaps between their numbers with empty ones. */
export function planBlocks(base: BlockHeader, requested: readonly BlockStateCalls[]): readonly PlannedBlock[] {
  if (requested.length === 0) throw new ExecutionError(executionCodes.invalidParameters, 'empty input');
  if (requested.length > mostBlocks) throw tooMany();
  const planned: PlannedBlock[] = [];
  let { number, timestamp } = base;
  for (const { blockOverrides = {}, stateOverrides = {}, calls = [] } of requested) {
    const wanted = blockOverrides.number === undefined ? number + 1n : BigInt(blockOverrides.number);
    if (wanted <= number)
      throw new ExecutionError(simulationCodes.blockNumber, `block numbers must be in order: ${wanted} <= ${number}`);
    if (wanted - base.number > mostBlocks) throw tooMany();
    for (number += 1n; number < wanted; number += 1n) {
      timestamp += secondsBetween;
      planned.push({ number, timestamp, overrides: {}, state: {}, calls: [] });
    }
    const time = blockOverrides.time === undefined ? timestamp + secondsBetween : BigInt(blockOverrides.time);
    if (time <= timestamp)
      throw new ExecutionError(
        simulationCodes.blockTimestamp,
        `block timestamps must be in order: ${time} <= ${timestamp}`,
      );
    timestamp = time;
    planned.push({ number, timestamp, overrides: blockOverrides, state: stateOverrides, calls });
  }
  return planned;
}

const tooMany = (): ExecutionError => new ExecutionError(simulationCodes.tooManyBlocks, 'too many blocks');
