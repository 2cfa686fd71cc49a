import { readFileSync } from 'node:fs';
import { createFeeMarket1559Tx } from '@ethereumjs/tx';
import { createAddressFromPrivateKey } from '@ethereumjs/util';
import { describe, expect, test } from 'vitest';
import { nextBaseFee, networkFees, ordinaryFees } from '../../../src/edges/evm/executor/base-fee.ts';
import { createExecutor, type Executor, type UncommittedBlock } from '../../../src/edges/evm/executor/executor.ts';
import { type ChainConfig, networkChain } from '../../../src/edges/evm/executor/state/genesis.ts';
import { foreignChain, splitBlocks } from '../../../tools/foreign-chain/geth-forms.ts';
import { createMemoryNodes } from '../../support/histories/memory-nodes.ts';
import type { Hex } from '../../../src/edges/evm/executor/outcome.ts';
import type { Attributes, Item } from '../../../src/edges/evm/executor/sealing.ts';

const key = new Uint8Array(32).fill(7);
const sender = createAddressFromPrivateKey(key).toString();
const receiver: Hex = `0x${'11'.repeat(20)}`;
const collector: Hex = `0x${'cc'.repeat(20)}`;
const gwei = 1_000_000_000n;
const config = networkChain({
  chainId: 76857769,
  seconds: 1_700_000_000,
  accounts: { [sender]: { balance: '0xde0b6b3a7640000' } },
});
/** Writes one empty log while it is made, and is empty itself. */
const logging = '0x60016000a060006000f3';

const attributes: Attributes = {
  timestamp: 1_700_000_010n,
  baseFee: 2n * gwei,
  gasLimit: 25_000_000n,
  coinbase: collector,
};

function transfer(
  executor: Executor,
  nonce: bigint,
  change: Readonly<{ to?: Hex; data?: Hex; value?: bigint }> = {},
): Item {
  const tx = createFeeMarket1559Tx(
    {
      chainId: 76857769n,
      nonce,
      maxFeePerGas: 5n * gwei,
      maxPriorityFeePerGas: gwei,
      gasLimit: 100_000n,
      value: 5n,
      ...(change.data ? {} : { to: receiver }),
      ...change,
    },
    { common: executor.forks.at({ number: 1n, timestamp: attributes.timestamp }) },
  );
  return { kind: 'transaction', raw: tx.sign(key).serialize() };
}

async function begin(of: ChainConfig): Promise<{ executor: Executor; first: UncommittedBlock }> {
  const executor = createExecutor({ config: of, nodes: createMemoryNodes() });
  const first = await executor.genesis();
  await first.commit();
  return { executor, first };
}

describe('createExecutor', () => {
  test(
    'seals a block that the library verifies and that executes to the same hash again',
    { tags: ['S1.evm.verified'] },
    async () => {
      const burning: ChainConfig = { ...config, feesTo: 'burned' };
      const { executor, first } = await begin(burning);
      const items = [transfer(executor, 0n), transfer(executor, 1n, { data: logging, value: 0n })];
      const sealed = await executor.seal(first.header, attributes, items);
      expect(sealed.outcomes.map(({ kind }) => kind)).toEqual(['executed', 'executed']);

      const verifier = await begin(burning);
      const verified = await verifier.executor.apply(verifier.first.header, { block: sealed.block });
      expect(verified.hash).toBe(sealed.hash);
      const again = await verifier.executor.apply(verifier.first.header, { block: sealed.block, items });
      expect(again.hash).toBe(sealed.hash);
    },
  );

  test(
    'applies items in order, pays all fees to the coinbase and says whom each item changed',
    { tags: ['S1.evm.accounts', 'S1.evm.fees'] },
    async () => {
      const { executor, first } = await begin(config);
      const accounts = [{ address: receiver, balance: 100n, nonce: 3n }];
      const sealed = await executor.seal(first.header, attributes, [
        { kind: 'accounts', accounts },
        transfer(executor, 0n),
      ]);
      const [changed, executed] = sealed.outcomes;
      expect(changed).toEqual({ kind: 'changed', touched: accounts });
      expect(executed).toMatchObject({
        kind: 'executed',
        transaction: { gasUsed: 21_000n, effectiveGasPrice: 3n * gwei },
      });
      expect(executed?.kind === 'executed' && executed.touched).toEqual(
        expect.arrayContaining([
          { address: sender, balance: 10n ** 18n - 5n - 21_000n * 3n * gwei, nonce: 1n },
          { address: receiver, balance: 105n, nonce: 3n },
          { address: collector, balance: 21_000n * 3n * gwei, nonce: 0n },
        ]),
      );
      const verifier = await begin(config);
      const items: Item[] = [{ kind: 'accounts', accounts }, transfer(executor, 0n)];
      expect(await verifier.executor.apply(verifier.first.header, { block: sealed.block, items })).toMatchObject({
        hash: sealed.hash,
      });
      await expect(
        verifier.executor.apply(verifier.first.header, { block: sealed.block, items: items.slice(1) }),
      ).rejects.toThrow('stateRoot is');
    },
  );

  test('refuses what cannot run, leaves what has no room, and keeps nothing of a block that is not committed', async () => {
    const { executor, first } = await begin(config);
    const items = [transfer(executor, 4n), transfer(executor, 0n), transfer(executor, 1n)];
    const small = { ...attributes, gasLimit: 110_000n };
    const one = await executor.seal(first.header, small, items);
    expect(one.outcomes.map(({ kind }) => kind)).toEqual(['refused', 'executed', 'left']);
    const same = await executor.seal(first.header, small, items);
    expect(same.hash).toBe(one.hash);
    await same.commit();
    const next = await executor.seal(same.header, { ...small, timestamp: 1_700_000_020n }, [transfer(executor, 1n)]);
    expect(next.outcomes.map(({ kind }) => kind)).toEqual(['executed']);
  });

  test(
    'imports the chain of the execution-apis suite and comes to its published head',
    { tags: ['S1.evm.foreign'] },
    async () => {
      const folder = new URL('../../fixtures/execution-apis/', import.meta.url);
      const genesis: ChainConfig['genesis'] = JSON.parse(readFileSync(new URL('genesis.json', folder), 'utf8'));
      const head: { params: [{ headBlockHash: string }] } = JSON.parse(
        readFileSync(new URL('headfcu.json', folder), 'utf8'),
      );
      const { executor, first } = await begin(foreignChain(genesis));
      let last = first;
      for (const block of splitBlocks(readFileSync(new URL('chain.rlp', folder)))) {
        last = await executor.apply(last.header, { block });
        await last.commit();
      }
      expect(last.hash).toBe(head.params[0].headBlockHash);
    },
  );
});

describe('nextBaseFee', () => {
  test(
    'falls by a sixteenth at most and never below the floor on the network, by an eighth elsewhere',
    { tags: ['S1.evm.fee-market'] },
    () => {
      const empty = { baseFeePerGas: 1_600_000_000n, gasUsed: 0n, gasLimit: 25_000_000n };
      expect(nextBaseFee(empty, networkFees)).toBe(1_500_000_000n);
      expect(nextBaseFee(empty, ordinaryFees)).toBe(1_400_000_000n);
      expect(nextBaseFee({ ...empty, baseFeePerGas: 510_000_000n }, networkFees)).toBe(500_000_000n);
    },
  );

  test('rises with what a block uses beyond its half, by one at least', { tags: ['S1.evm.fee-market'] }, () => {
    const full = { baseFeePerGas: 1_600_000_000n, gasUsed: 25_000_000n, gasLimit: 25_000_000n };
    expect(nextBaseFee(full, networkFees)).toBe(1_700_000_000n);
    expect(nextBaseFee({ ...full, baseFeePerGas: 1n }, ordinaryFees)).toBe(2n);
    expect(nextBaseFee({ ...full, gasUsed: 12_500_000n }, networkFees)).toBe(1_600_000_000n);
  });
});
