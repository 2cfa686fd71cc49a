import { createExecutor, type Sealed } from '../../src/edges/evm/executor/executor.ts';
import { call } from '../../src/edges/evm/executor/calls.ts';
import { createMemoryNodes } from '../../src/edges/evm/executor/memory-nodes.ts';
import { createReader } from '../../src/edges/evm/executor/reader.ts';
import type { Context } from '../context.ts';
import { balanceCall, beginning, blockOfTransactions, loadedChain, token } from '../evm-load.ts';
import type { Contender } from '../rounds.ts';
import type { Row } from '../row.ts';

/** Blocks of 200 signed transactions of 200 senders, and calls of a token, by the processor time that they take. */
export function rows(context: Context): readonly Row[] {
  const shape = { better: 'higher', peerName: null } as const;
  return [
    {
      ...shape,
      name: 'evm-transfers',
      unit: 'transfers/s of CPU',
      target: { ours: 300 },
      measure: async () => context.inTurn('higher', await sealing(context, 'coins')),
    },
    {
      ...shape,
      name: 'evm-erc20',
      unit: 'transfers/s of CPU',
      target: { ours: 150 },
      measure: async () => context.inTurn('higher', await sealing(context, 'tokens')),
    },
    {
      ...shape,
      name: 'evm-calls',
      unit: 'calls/s of CPU',
      target: { ours: 1_000 },
      measure: async () => context.inTurn('higher', await calling(context)),
    },
  ];
}

async function sealing(context: Context, of: 'coins' | 'tokens'): Promise<Contender> {
  const config = loadedChain();
  const executor = createExecutor({ config, nodes: createMemoryNodes() });
  let last: Sealed = await executor.genesis();
  await last.commit();
  let round = 0n;
  const blocks = BigInt(context.size(5, 1));
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

async function calling(context: Context): Promise<Contender> {
  const config = loadedChain();
  const nodes = createMemoryNodes();
  const first = await createExecutor({ config, nodes }).genesis();
  await first.commit();
  const reader = createReader({ config, nodes });
  const count = context.size(4_000, 400);
  return () =>
    perCpuSecond(count, async () => {
      for (let at = 0; at < count; at += 1)
        await call(reader, { at: first.header, gasCap: 50_000_000n, request: { to: token, input: balanceCall(at) } });
    });
}

/** How much is done in a second of processor time of this process. */
async function perCpuSecond(count: number, work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (count / (user + system)) * 1_000_000;
}
