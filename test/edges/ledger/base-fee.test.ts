import { createFeeMarket1559Tx } from '@ethereumjs/tx';
import { createAddressFromPrivateKey } from '@ethereumjs/util';
import { expect, test } from 'vitest';
import { accountOfEvm } from '../../../src/edges/chain/sign/addresses.ts';
import { EvmChain } from '../../../src/edges/ledger/evm-chain.ts';
import { executeInMemory } from '../../support/histories/memory-nodes.ts';
import { localBeginning } from '../../../src/edges/local-network/beginning.ts';

const key = new Uint8Array(32).fill(7);
const sender = createAddressFromPrivateKey(key);
const gwei = 10n ** 9n;
const limit = 25_000_000n;

/** EIP-1559 with denominator 16 and a floor of half a gwei, written down once more. */
function expectedAfter(fee: bigint, gasUsed: bigint): bigint {
  const target = limit / 2n;
  if (gasUsed === target) return fee;
  const change = (fee * (gasUsed > target ? gasUsed - target : target - gasUsed)) / target / 16n;
  const next = gasUsed > target ? fee + (change > 0n ? change : 1n) : fee - change;
  return next < gwei / 2n ? gwei / 2n : next;
}

test(
  'the base fee follows the formula over 50 full blocks and 50 empty ones',
  { tags: ['S1.evm.fee-market'] },
  async () => {
    const { genesis, time } = localBeginning(1, Date.now());
    const accounts = [{ address: accountOfEvm(sender.toString()), balance: 10n ** 24n }];
    const chain = await EvmChain.open({ startedAt: time, genesis, accounts, open: executeInMemory });
    await chain.begun;
    let at = Date.parse(time);
    const seal = async (...raw: Uint8Array[]) => {
      const sealed = await chain.draft(new Date((at += 1_000)).toISOString(), {
        changes: [],
        transactions: raw,
        bytes: 0,
      });
      await chain.commit(sealed);
      return sealed;
    };
    /** Making a contract of an invalid instruction uses all the gas that it is given. */
    const full = (nonce: number) =>
      createFeeMarket1559Tx(
        { chainId: chain.bounds.chainId, nonce, gasLimit: limit, maxFeePerGas: 1_000n * gwei, data: '0xfe' },
        { common: chain.bounds.common },
      )
        .sign(key)
        .serialize();
    const seen: bigint[] = [];
    const expected: bigint[] = [];
    let fee = (5n * gwei) / 2n;
    for (let block = 0; block < 100; block += 1) {
      seen.push(chain.next.baseFee);
      fee = block === 0 ? chain.next.baseFee : fee;
      expected.push(fee);
      const { outcomes } = block < 50 ? await seal(full(block)) : await seal();
      const gasUsed = outcomes.reduce((sum, one) => sum + (one.kind === 'executed' ? one.transaction.gasUsed : 0n), 0n);
      expect(gasUsed).toBe(block < 50 ? limit : 0n);
      fee = expectedAfter(fee, gasUsed);
    }
    expect(seen).toEqual(expected);
    expect(seen[49]).toBeGreaterThan(40n * gwei);
    expect(seen[99]).toBeLessThan(5n * gwei);
  },
);
