import { createFeeMarket1559Tx } from '@ethereumjs/tx';
import { createAddressFromPrivateKey } from '@ethereumjs/util';
import pg from 'pg';
import { expect, test } from 'vitest';
import { account, code, storage } from '../../../../src/edges/evm/executor/state/account-reads.ts';
import { createExecutor } from '../../../../src/edges/evm/executor/executor.ts';
import { forgetStates } from '../../../../src/edges/evm/executor/state/forget-states.ts';
import { networkChain } from '../../../../src/edges/evm/executor/state/genesis.ts';
import { createMemoryNodes } from '../../../support/histories/memory-nodes.ts';
import type { NodeBatch, NodeStore } from '../../../../src/edges/evm/executor/state/node-store.ts';
import { openPostgresNodes } from '../../../../src/edges/evm/executor/state/postgres-nodes.ts';
import { createReader } from '../../../../src/edges/evm/executor/reader.ts';
import type { Item } from '../../../../src/edges/evm/executor/sealing.ts';
import { metaSchema } from '../../../../src/engine/models/engine/generations.ts';
import { seeded } from '../../../support/histories/random-history.ts';
import { migratedDatabase } from '../../../support/programs/migrated-database.ts';

type Hex = `0x${string}`;
const key = new Uint8Array(32).fill(7);
const word = (value: number): Hex => `0x${value.toString(16).padStart(64, '0')}`;
const people = Array.from({ length: 6 }, (_, at): Hex => `0x${String(at + 10).repeat(20)}`);
/** Stores its second word in the slot that its first one names. */
const store: Hex = `0x${'a1'.repeat(20)}`;
const slots = [0, 1, 2, 3].map(word);
const seconds = 1_700_000_000;
const config = networkChain({
  chainId: 76857769,
  seconds,
  accounts: {
    [createAddressFromPrivateKey(key).toString()]: { balance: '0xde0b6b3a7640000' },
    [store]: { balance: '0x0', code: '0x602035600035550000' },
  },
});

const accountOf = ({ balance, nonce }: Readonly<{ balance: bigint; nonce: bigint }>) => [balance, nonce];

/** A network's store in PostgreSQL, and a count of its nodes. */
async function openStore() {
  const { postgres, network } = await migratedDatabase();
  const database = new pg.Client(postgres);
  await database.connect();
  const rows = async (): Promise<number> =>
    Number((await database.query(`select count(*) from ${metaSchema(network)}.evm_nodes`)).rows[0].count);
  const stored = openPostgresNodes(postgres, network);
  const end = async () => void (await Promise.all([stored.end(), database.end()]));
  return { postgres, network, rows, stored, end };
}

/** Everything that the blocks of this test change, as it is at a block. */
async function stateAt(nodes: NodeStore, at: Uint8Array): Promise<unknown> {
  const reader = createReader({ config, nodes });
  const balances: unknown[] = [];
  for (const address of people) balances.push(accountOf(await account(reader, { at, address })));
  const words = await storage(reader, { at, address: store, slots });
  const bytes = [...words, await code(reader, { at, address: store })];
  return [balances, bytes.map((one) => Buffer.from(one).toString('hex'))];
}

test(
  'states of the last heights, of genesis and of each that was kept stay whole, all others go',
  { tags: ['S1.evm.history'] },
  async () => {
    const { postgres, network, rows, stored, end } = await openStore();
    const memory = createMemoryNodes();
    const executors = [createExecutor({ config, nodes: stored }), createExecutor({ config, nodes: memory })] as const;
    const [first] = await Promise.all(
      executors.map(async (executor) => {
        const genesis = await executor.genesis();
        await genesis.commit();
        return genesis.header;
      }),
    );
    const headers = [first ?? new Uint8Array()];
    const random = seeded(23);
    const next = async (): Promise<void> => {
      const number = headers.length;
      const place = { number: BigInt(number), timestamp: BigInt(seconds + number) };
      const common = executors[0].forks.at(place);
      const tx = createFeeMarket1559Tx(
        {
          chainId: 76857769n,
          nonce: number - 1,
          maxFeePerGas: 10n ** 10n,
          gasLimit: 100_000n,
          to: store,
          data: `0x${word(random.below(slots.length)).slice(2)}${word(random.below(3)).slice(2)}`,
        },
        { common },
      );
      // The same few values again and again: nodes go and are written again, as they were.
      const changed = {
        address: people[random.below(people.length)] ?? store,
        balance: BigInt(random.below(3)),
        nonce: 1n,
      };
      const items: Item[] = [
        { kind: 'accounts', accounts: [changed] },
        { kind: 'transaction', raw: tx.sign(key).serialize() },
      ];
      const attributes = { timestamp: place.timestamp, baseFee: 10n ** 9n, gasLimit: 25_000_000n, coinbase: store };
      const parent = headers.at(-1) ?? new Uint8Array();
      const [one, other] = await Promise.all(executors.map((executor) => executor.seal(parent, attributes, items)));
      expect(one?.hash).toBe(other?.hash);
      await Promise.all([one?.commit(), other?.commit()]);
      headers.push(one?.header ?? parent);
    };
    const forgotten: number[] = [];
    while (headers.length <= 60) {
      await next();
      const height = headers.length - 1;
      if (height % 15 !== 0 || height < 30) continue;
      const { dropped } = await forgetStates(postgres, network, height - 15);
      forgotten.push(dropped);
      expect(await forgetStates(postgres, network, height - 15), 'it is done once').toMatchObject({ dropped: 0 });
    }
    expect(Math.min(...forgotten)).toBeGreaterThan(30);
    const kept = new Set([0, 15, 30]);
    for (const [height, header] of headers.entries()) {
      const state = stateAt(stored, header);
      if (height >= 45 || kept.has(height))
        expect(await state, `state ${height}`).toEqual(await stateAt(memory, header));
      else await expect(state, `state ${height}`).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    }
    expect((await stored.header(3n)) ?? null).toBeNull();
    expect((await stored.header(0n))?.number).toBe(0n);
    expect(await rows()).toBeLessThan(60 * 12);
    await end();
  },
);

test('blocks are stored together with their nodes, all or none, and only on the block before them', async () => {
  const { rows, stored, end } = await openStore();
  const block = (number: number, kind = 'a', nodes = [`0${number}`, 'ff']): NodeBatch => ({
    nodes: new Map(nodes.map((hash) => [hash.padStart(64, '0'), Uint8Array.of(number)])),
    header: { number: BigInt(number), hash: `0x${kind.repeat(64)}`, rlp: Uint8Array.of(number) },
  });
  const of = (text: string) => ({ code: 'CONFLICT', message: expect.stringContaining(text) as string });
  await expect(stored.put(block(1))).rejects.toMatchObject(of('not at the block before 1'));
  await stored.putAll([block(0), block(1)]);
  await stored.putAll([block(1), block(2)]);
  await stored.put(block(0));
  expect((await stored.head())?.number).toBe(2n);
  expect(await rows()).toBe(4);
  await expect(stored.putAll([block(2, 'b'), block(3)])).rejects.toMatchObject(of('holds another block 2'));
  await expect(stored.putAll([block(4), block(5)])).rejects.toMatchObject(of('not at the block before 4'));
  expect((await stored.head())?.number).toBe(2n);
  expect(await rows()).toBe(4);
  await end();
});
