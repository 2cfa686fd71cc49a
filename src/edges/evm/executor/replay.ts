import type { Block } from '@ethereumjs/block';
import type { TypedTransaction } from '@ethereumjs/tx';
import { runTx, type RunTxResult } from '@ethereumjs/vm';
import { payBaseFee } from './block-builder.ts';
import { readBlock } from './blocks.ts';
import { executionCodes, ExecutionError } from './execution-error.ts';
import type { Machine } from './machine.ts';
import type { At, StateReader } from './reader.ts';
import { type AccountsItem, applyAccounts } from './sealing.ts';
import { openBlock } from './system-calls.ts';

/** A block whose transactions are executed again, on top of its parent; `opening` is what the rules left to them. */
export type Replayed = Readonly<{ parent: At; block: Uint8Array; opening?: AccountsItem | undefined }>;

/** A transaction whose turn it is; `run` executes it. */
export type Turn = Readonly<{
  block: Block;
  index: number;
  tx: TypedTransaction;
  machine: Machine;
  run: () => Promise<RunTxResult>;
}>;

/**
 * Executes the transactions of a block again in turn, each as `take` decides, until it returns `false`; returns the
 * machine as they leave it, which is the caller's own. Fails with an ExecutionError for genesis.
 */
export async function replay(
  reader: StateReader,
  { parent, block: rlp, opening }: Replayed,
  take: (turn: Turn) => Promise<boolean>,
): Promise<Readonly<{ machine: Machine; block: Block }>> {
  const block = readBlock(rlp, reader.forks);
  if (block.header.number === 0n) throw new ExecutionError(executionCodes.failed, 'genesis is not traceable');
  const machine = await reader.machineAt(parent, reader.forks.at(block.header));
  const { vm } = machine;
  await vm.evm.journal.checkpoint();
  await openBlock(vm, block.header);
  if (opening) await applyAccounts(machine, opening);
  let blockGasUsed = 0n;
  for (const [index, tx] of block.transactions.entries()) {
    const run = async (): Promise<RunTxResult> => {
      const result = await runTx(vm, { tx, block, blockGasUsed, skipHardForkValidation: true });
      if (reader.config.feesTo === 'coinbase') await payBaseFee(vm, block, result);
      blockGasUsed += result.totalGasSpent;
      return result;
    };
    if (!(await take({ block, index, tx, machine, run }))) break;
  }
  return { machine, block };
}
