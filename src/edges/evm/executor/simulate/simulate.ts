import { type Block, createBlock } from '@ethereumjs/block';
import { Bloom } from '@ethereumjs/vm';
import { blockForm } from '../block-forms.ts';
import { blockRoots } from '../blocks.ts';
import type { BlockHashes, Machine } from '../machine.ts';
import { overrideState } from '../overrides.ts';
import type { At, StateReader } from '../reader.ts';
import { openBlock, requestsHash } from '../system-calls.ts';
import { callForms } from './call-forms.ts';
import { LogRecorder } from './log-recorder.ts';
import { type BlockStateCalls, planBlocks, type PlannedBlock } from './plan.ts';
import { blobGasOfAll, plannedHeader, priced, reward, withdraw } from './planned-header.ts';
import { movePrecompiles } from './precompiles.ts';
import { simulateCall, type SimulatedCall } from './simulated-calls.ts';

/** A simulation on top of a block, in the terms of `eth_simulateV1`. */
export type Simulation = Readonly<{
  at: At;
  blockStateCalls: readonly BlockStateCalls[];
  /** Checks nonces and fees as a real block does. */
  validation: boolean;
  /** Shows transfers of the native coin as logs. */
  traceTransfers: boolean;
  returnFullTransactions: boolean;
  /** Gas of all calls together. */
  gasCap: bigint;
}>;

type Chain = {
  readonly reader: StateReader;
  readonly simulation: Simulation;
  readonly budget: { left: bigint };
  readonly blocks: Map<bigint, Block>;
  readonly machine: Machine;
  parent: Block;
};

/** Runs calls in blocks that follow a real one, and shows those blocks; nothing of it stays. */
export async function simulate(
  reader: StateReader,
  simulation: Simulation,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const base = reader.blockOf(simulation.at);
  const planned = planBlocks(base.header, simulation.blockStateCalls);
  const blocks = new Map<bigint, Block>();
  const hashes: BlockHashes = {
    getBlock: async (id) =>
      (id instanceof Uint8Array ? undefined : blocks.get(BigInt(id))) ?? (await reader.blocks.getBlock(id)),
  };
  const machine = await reader.machineAt(simulation.at, reader.forks.withoutGasCap(base.header), hashes);
  const chain: Chain = {
    reader,
    simulation,
    budget: { left: simulation.gasCap },
    blocks,
    machine,
    parent: base,
  };
  const shown: Readonly<Record<string, unknown>>[] = [];
  for (const plan of planned) shown.push(await simulateBlock(chain, plan));
  return shown;
}

async function simulateBlock(chain: Chain, plan: PlannedBlock): Promise<Readonly<Record<string, unknown>>> {
  const { reader, simulation, budget } = chain;
  const common = reader.forks.withoutGasCap(plan);
  const { state } = chain.machine;
  const vm = await chain.machine.vmOf(common);
  const machine = { ...chain.machine, vm };
  const header = plannedHeader(
    { common, fees: reader.config.fees, validation: simulation.validation },
    chain.parent,
    plan,
  );
  const environment = priced(createBlock({ header }, { common }), plan);
  movePrecompiles(vm, plan.state);
  await overrideState(machine, plan.state);
  await vm.evm.journal.checkpoint();
  await openBlock(vm, environment.header);
  const recorder = new LogRecorder(vm, simulation.traceTransfers);
  const calls: SimulatedCall[] = [];
  let gasUsed = 0n;
  for (const request of plan.calls) {
    const position = { machine, environment, recorder, validation: simulation.validation, budget };
    const call = await simulateCall(position, request, gasUsed);
    gasUsed += call.result.totalGasSpent;
    calls.push(call);
  }
  const results = calls.map(({ result }) => result);
  const requests = await requestsHash(vm, results);
  await vm.evm.journal.commit();
  await reward(machine, environment.header);
  const withdrawals = await withdraw(machine, plan);
  const bloom = new Bloom();
  for (const result of results) bloom.or(result.bloom);
  const transactions = calls.map(({ tx }) => tx);
  const receipts = results.map(({ receipt }) => receipt);
  const complete = {
    ...header,
    ...blockRoots(transactions, receipts),
    ...withdrawals.root,
    stateRoot: await state.getStateRoot(),
    logsBloom: bloom.bitvector,
    gasUsed,
    ...(common.isActivatedEIP(4844) && { blobGasUsed: blobGasOfAll(calls) }),
    ...(requests && { requestsHash: requests }),
  };
  const block = createBlock(
    { header: complete, ...(withdrawals.list && { withdrawals: withdrawals.list }) },
    { common, skipConsensusFormatValidation: true },
  );
  block.transactions.push(...transactions);
  chain.blocks.set(plan.number, block);
  chain.parent = block;
  return { ...blockForm(block, simulation.returnFullTransactions), calls: callForms(block, calls) };
}
