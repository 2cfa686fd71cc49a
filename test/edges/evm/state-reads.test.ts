import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { UncommittedBlock } from '../../../src/edges/evm/executor/executor.ts';
import { foreignChain, splitBlocks } from '../../../tools/foreign-chain/geth-forms.ts';
import type { Hex } from '../../../src/edges/evm/executor/outcome.ts';
import { createExecution, type Execution } from '../../../src/edges/evm/workers/execution.ts';
import { createStateReads, type StateReads } from '../../../src/edges/evm/workers/state-reads.ts';
import type { StateAccess } from '../../../src/edges/evm/workers/state-access.ts';
import { migratedDatabase } from '../../support/programs/migrated-database.ts';

const folder = new URL('../../fixtures/execution-apis/', import.meta.url);
const contract: Hex = '0x7dcd17433742f4c0ca53122ab541d0ba67fc27df';
const endless: Hex = `0x${'ab'.repeat(20)}`;
const blocks = [...splitBlocks(readFileSync(new URL('chain.rlp', folder)))];

describe('the state of a chain in PostgreSQL', () => {
  let access: StateAccess;
  let execution: Execution;
  let reads: StateReads;
  const chain: UncommittedBlock[] = [];
  const head = (): Uint8Array => chain.at(-1)?.header ?? new Uint8Array();

  beforeAll(async () => {
    const { postgres, network } = await migratedDatabase();
    const config = foreignChain(JSON.parse(readFileSync(new URL('genesis.json', folder), 'utf8')));
    access = { postgres, network, config };
    execution = createExecution(access);
    const first = await execution.genesis();
    await first.commit();
    chain.push(first);
    for (const block of blocks.slice(0, 40)) {
      const next = await execution.apply(head(), { block });
      await next.commit();
      chain.push(next);
    }
    reads = createStateReads({ access, threads: 1, timeoutMs: 5_000 });
  });
  afterAll(async () => {
    await Promise.all([execution.close(), reads.close()]);
  });

  test('goes on in another thread where the last one ended', async () => {
    await execution.close();
    execution = createExecution(access);
    const stored = await execution.head();
    expect(stored?.number).toBe(40n);
    for (const block of blocks.slice(40)) {
      const next = await execution.apply(head(), { block });
      await next.commit();
      chain.push(next);
    }
    expect((await execution.head())?.hash).toBe(chain.at(-1)?.hash);
  });

  test('takes no second block where one stands, and the same once more', async () => {
    const [genesis] = chain;
    const other = createExecution({ ...access, config: foreignChain({ ...access.config.genesis, extraData: '0x01' }) });
    const wrong = await other.genesis();
    await expect(wrong.commit()).rejects.toThrow('holds another block 0');
    await other.close();
    const again = await execution.genesis();
    expect(again.hash).toBe(genesis?.hash);
    await expect(again.commit()).resolves.toBeUndefined();
    await expect(again.commit()).rejects.toThrow('execute it again');
  });

  test('shows an account at every block', { tags: ['S1.evm.history'] }, async () => {
    const slots: Hex[] = ['0x0'];
    const early = chain[1]?.header ?? new Uint8Array();
    const lastByte = async (at: Uint8Array): Promise<number | undefined> => {
      const [word] = await reads.read('storage', { at, address: contract, slots });
      return word?.at(-1);
    };
    expect(await lastByte(head())).toBe(0x38);
    expect(await lastByte(early)).not.toBe(0x38);
    const proven = await reads.read('proof', { at: head(), address: contract, slots });
    expect(proven.storageProof).toMatchObject([{ key: '0x0', value: '0x38' }]);
  });

  test('says what is wrong with a call by the codes of JSON-RPC', async () => {
    const request = { to: contract, value: '0x1' as Hex, from: endless };
    await expect(reads.read('call', { at: head(), request, gasCap: 50_000_000n })).rejects.toMatchObject({
      code: -32000,
      message: expect.stringContaining('insufficient funds'),
    });
  });

  test('ends a call that does not end by itself, and answers the next one', { tags: ['S1.evm.endless'] }, async () => {
    // JUMPDEST, PUSH0, JUMP
    const stateOverrides = { [endless]: { code: '0x5b5f56' as Hex } };
    const call = { at: head(), request: { to: endless }, gasCap: 10n ** 15n, stateOverrides };
    await expect(reads.read('call', call)).rejects.toMatchObject({ code: 'DEADLINE' });
    expect(await reads.read('account', { at: head(), address: endless })).toMatchObject({ balance: 0n, nonce: 0n });
  });

  test('waits for the state of a block that is shown before it is stored', { tags: ['S1.evm.late'] }, async () => {
    const attributes = { timestamp: 0n, baseFee: 1n, gasLimit: 30_000_000n, coinbase: endless };
    const sealed = await execution.seal(head(), { ...attributes, timestamp: 4_000_000_000n }, [
      { kind: 'accounts', accounts: [{ address: endless, balance: 77n, nonce: 3n }] },
    ]);
    const early = reads.read('account', { at: sealed.header, address: endless });
    // There is one thread: once the second is answered, the first has been tried in vain.
    expect(await reads.read('account', { at: head(), address: endless })).toMatchObject({ balance: 0n });
    await sealed.commit();
    expect(await early).toMatchObject({ balance: 77n, nonce: 3n });
  });

  test('says that a state is not stored when it does not come in time', { tags: ['S1.evm.late'] }, async () => {
    const impatient = createStateReads({ access, threads: 1, timeoutMs: 1_000, lateMs: 100 });
    const other = Uint8Array.from(head());
    other.set(new Uint8Array(32).fill(9), 91);
    await expect(impatient.read('account', { at: other, address: endless })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    });
    await impatient.close();
  });
});
