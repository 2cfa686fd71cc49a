import { createExecutor, type UncommittedBlock } from '../../src/edges/evm/executor/executor.ts';
import { call } from '../../src/edges/evm/executor/calls.ts';
import { createMemoryNodes } from '../../test/support/histories/memory-nodes.ts';
import { createReader } from '../../src/edges/evm/executor/reader.ts';
import type { Context } from '../context.ts';
import { balanceCall, beginning, blockOfTransactions, loadedChain, perCpuSecond, token } from '../evm-load.ts';
import type { Contender } from '../rounds.ts';
import type { Row } from '../row.ts';
import * as fullBlocks from './full-blocks.ts';

/** Blocks of 200 signed transactions of 200 senders, and calls of a token, by the processor time that they take. */
export function rows(context: Context): readonly Row[] {
  const blocks = context.size(5, 1);
  const calls = context.size(4_000, 400);
  const row = (name: string, unit: string, target: Row['target'], measure: Row['measure']): Row => ({
    name,
    unit: `${unit}/s of CPU`,
    better: 'higher',
    peerName: 'EDR 0.20.0, the engine of Hardhat',
    target,
    measure,
  });
  const sealed = async (of: 'coins' | 'tokens') =>
    await context.inTurn('higher', await sealing(of, blocks), () => edrSealing(context, of, blocks));
  return [
    row('evm-transfers', 'transfers', { ours: 300, ratio: 0.167 }, async () => await sealed('coins')),
    row('evm-erc20', 'transfers', { ours: 150, ratio: 0.4 }, async () => await sealed('tokens')),
    row('evm-calls', 'calls', { ours: 1_000, ratio: 0.35 }, async () =>
      context.inTurn('higher', await calling(calls), async () => {
        const edr = await context.peer('edr');
        return () => edr.ask('calls', { count: calls });
      }),
    ),
    ...fullBlocks.rows(context),
  ];
}

async function edrSealing(context: Context, of: 'coins' | 'tokens', blocks: number): Promise<Contender> {
  const edr = await context.peer('edr');
  let round = 0;
  return async () => {
    const from = round * blocks;
    round += 1;
    return await edr.ask(of, { from, blocks });
  };
}

async function sealing(of: 'coins' | 'tokens', atOnce: number): Promise<Contender> {
  const config = loadedChain();
  const executor = createExecutor({ config, nodes: createMemoryNodes() });
  let last: UncommittedBlock = await executor.genesis();
  await last.commit();
  let round = 0n;
  const blocks = BigInt(atOnce);
  return async () => {
    const from = round * blocks;
    round += 1n;
    const items = Array.from({ length: Number(blocks) }, (_, at) => blockOfTransactions(config, of, from + BigInt(at)));
    const count = items.flat().length;
    return await perCpuSecond(count, async () => {
      for (const block of items) {
        const attributes = {
          timestamp: beginning + last.number + 1n,
          baseFee: 1_000_000_000n,
          gasLimit: 50_000_000n,
          coinbase: token,
        };
        last = await executor.seal(last.header, attributes, block);
        const left = last.outcomes.filter(({ kind }) => kind !== 'executed');
        if (left.length > 0) throw new Error(`${left.length} transactions were not executed`);
        await last.commit();
      }
    });
  };
}

async function calling(count: number): Promise<Contender> {
  const config = loadedChain();
  const nodes = createMemoryNodes();
  const first = await createExecutor({ config, nodes }).genesis();
  await first.commit();
  const reader = createReader({ config, nodes });
  return () =>
    perCpuSecond(count, async () => {
      for (let at = 0; at < count; at += 1)
        await call(reader, { at: first.header, gasCap: 50_000_000n, request: { to: token, input: balanceCall(at) } });
    });
}
