import { createFeeMarket1559Tx } from '@ethereumjs/tx';
import { createAddressFromPrivateKey } from '@ethereumjs/util';
import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { call, estimate } from '../../../../src/edges/evm/executor/calls.ts';
import { createExecutor, type Executor } from '../../../../src/edges/evm/executor/executor.ts';
import type { Hex } from '../../../../src/edges/evm/executor/outcome.ts';
import { createReader } from '../../../../src/edges/evm/executor/reader.ts';
import type { Attributes, Item } from '../../../../src/edges/evm/executor/sealing.ts';
import { networkChain } from '../../../../src/edges/evm/executor/state/genesis.ts';
import type { NodeStore } from '../../../../src/edges/evm/executor/state/node-store.ts';
import { AppError, toAppError } from '../../../../src/kit/errors.ts';
import { openPostgresNodes } from '../../../../src/edges/evm/executor/state/postgres-nodes.ts';
import { migratedDatabase } from '../../../support/programs/migrated-database.ts';
import { createMemoryNodes } from '../../../support/histories/memory-nodes.ts';

const gwei = 1_000_000_000n;
const key = new Uint8Array(32).fill(7);
const sender = createAddressFromPrivateKey(key).toString();
const looker: Hex = `0x${'44'.repeat(20)}`;
const low = (index: number): Hex => `0x${index.toString(16).padStart(40, '0')}`;
const others = Array.from({ length: 200 }, (_, index) => low(index + 0x100));
/** PUSH2, BALANCE, POP for some of them: each is a read of nodes that nothing else needs. */
const looking: Hex = `0x${others
  .slice(0, 6)
  .map((one) => `61${one.slice(-4)}3150`)
  .join('')}00`;
const config = networkChain({
  chainId: 76857769,
  seconds: 1_700_000_000,
  accounts: {
    [sender]: { balance: '0xde0b6b3a7640000' },
    [looker]: { balance: '0x0', code: looking },
    ...Object.fromEntries(others.map((one) => [one, { balance: '0x1' }])),
  },
});
const attributes: Attributes = {
  timestamp: 1_700_000_010n,
  baseFee: 2n * gwei,
  gasLimit: 25_000_000n,
  coinbase: `0x${'cc'.repeat(20)}`,
};

function lookingItem({ forks }: Executor): Item {
  const common = forks.at({ number: 1n, timestamp: attributes.timestamp });
  const fees = { maxFeePerGas: 5n * gwei, maxPriorityFeePerGas: gwei, gasLimit: 100_000n };
  const raw = createFeeMarket1559Tx({ chainId: 76857769n, to: looker, ...fees }, { common })
    .sign(key)
    .serialize();
  return { kind: 'transaction', raw };
}

/** The same store, whose read of this number (from 0) fails as one does whose connection is lost; and how many came. */
function losing(nodes: NodeStore, lost: number): Readonly<{ nodes: NodeStore; reads: () => number }> {
  let reads = 0;
  const get: NodeStore['get'] = async (hash) => {
    if (reads++ === lost) throw new AppError('UNAVAILABLE', 'PostgreSQL does not answer for now');
    return await nodes.get(hash);
  };
  return { nodes: { ...nodes, get }, reads: () => reads };
}

/** Does something over a store as often as it reads, each time without one more of the reads. */
async function withoutEach(work: (nodes: NodeStore) => Promise<unknown>): Promise<unknown[]> {
  const nodes = createMemoryNodes();
  const first = await createExecutor({ config, nodes }).genesis();
  await first.commit();
  const whole = losing(nodes, -1);
  await work(whole.nodes);
  const outcomes: unknown[] = [];
  for (let lost = 0; lost < whole.reads(); lost += 1)
    outcomes.push(await work(losing(nodes, lost).nodes).catch((caught: unknown) => toAppError(caught).code));
  return outcomes;
}

const head = async (nodes: NodeStore): Promise<Uint8Array> => (await nodes.head())?.rlp ?? new Uint8Array();

describe('a read of the state that is lost in the middle', () => {
  it('fails the block as what passes, and refuses no transaction of it', async () => {
    const outcomes = await withoutEach(async (nodes) => {
      const executor = createExecutor({ config, nodes });
      const sealed = await executor.seal(await head(nodes), attributes, [lookingItem(executor)]);
      return sealed.outcomes.map((one) => (one.kind === 'refused' ? one.reason : one.kind));
    });
    expect(outcomes.length).toBeGreaterThan(10);
    expect(new Set(outcomes)).toEqual(new Set(['UNAVAILABLE']));
  });

  it.each([['a call', call] as const, ['an estimate', estimate] as const])('fails %s alike', async (_, read) => {
    const outcomes = await withoutEach(async (nodes) => {
      const reader = createReader({ config, nodes });
      return await read(reader, { at: await head(nodes), request: { from: sender, to: looker }, gasCap: 1_000_000n });
    });
    expect(outcomes.length).toBeGreaterThan(5);
    expect(new Set(outcomes)).toEqual(new Set(['UNAVAILABLE']));
  });

  it('passes as well where PostgreSQL refuses it', async () => {
    const { postgres, network } = await migratedDatabase();
    const client = new pg.Client(postgres);
    await client.connect();
    await client.query(`alter table annals_${network}.evm_nodes rename column node to damaged`);
    await client.end();
    const nodes = openPostgresNodes(postgres, network);
    onTestFinished(() => nodes.end());
    await expect(nodes.get('00'.repeat(32))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});
