import { createFeeMarket1559Tx } from '@ethereumjs/tx';
import { createAddressFromPrivateKey } from '@ethereumjs/util';
import { expect, test } from 'vitest';
import { createExecutor, type UncommittedBlock } from '../../../src/edges/evm/executor/executor.ts';
import { networkChain } from '../../../src/edges/evm/executor/state/genesis.ts';
import { loggedReceipt } from '../../../src/edges/evm/executor/logged-receipt.ts';
import { createMemoryNodes } from '../../support/histories/memory-nodes.ts';
import type { Outcome } from '../../../src/edges/evm/executor/outcome.ts';
import type { SealingLimits } from '../../../src/edges/evm/executor/sealing-limits.ts';

type Hex = `0x${string}`;

const keys = [1, 2, 3].map((digit) => new Uint8Array(32).fill(digit));
const addresses = keys.map((key) => createAddressFromPrivateKey(key).toString());
const seconds = 1_700_000_000;
/** Writes 10,000 bytes as a log, so often as its input says, and a slot. */
const writer: Hex = `0x${'a1'.repeat(20)}`;
const writerCode = '0x60015f555f355b80156018576127105fa0600190036006565b00';
/** Reads the balance of one account after the other until its gas is spent. */
const reader: Hex = `0x${'a2'.repeat(20)}`;
const readerCode = '0x5f5b600101803150600156';
/** Jumps until its gas is spent. */
const looper: Hex = `0x${'a3'.repeat(20)}`;
/** A power by an exponent of so many bytes as its input says; the library takes a day for some of its gas. */
const power: Hex = `0x${'a4'.repeat(20)}`;
const powerCode = '0x60015f525f35602052600160405260ff60605360ff60615360035f356061015360015f5f356062015f60055afa00';
const attributes = {
  timestamp: BigInt(seconds + 10),
  baseFee: 10n ** 9n,
  gasLimit: 25_000_000n,
  coinbase: `0x${'cc'.repeat(20)}`,
} as const;
/** Far beyond what the others need, and far less than those that read or loop. */
const transactionMs = 60;
const unlimited: SealingLimits = { bytes: Infinity, blockMs: Infinity, transactionMs: Infinity };

async function begin() {
  const balance = '0xde0b6b3a7640000';
  const accounts = {
    ...Object.fromEntries(addresses.map((address) => [address, { balance }])),
    [writer]: { balance: '0x0', code: writerCode },
    [reader]: { balance: '0x0', code: readerCode },
    [power]: { balance: '0x0', code: powerCode },
    [looper]: { balance: '0x0', code: '0x5b5f56' },
  };
  const config = networkChain({ chainId: 76857769, seconds, accounts });
  const executor = createExecutor({ config, nodes: createMemoryNodes() });
  const first = await executor.genesis();
  await first.commit();
  const common = executor.forks.at({ number: 1n, timestamp: attributes.timestamp });
  const item = (of: number, nonce: number, times: number, to: Hex = writer, gasLimit = 5_000_000n) => {
    const data: Hex = `0x${times.toString(16).padStart(64, '0')}`;
    const tx = createFeeMarket1559Tx(
      { chainId: 76857769n, nonce, maxFeePerGas: 10n ** 10n, gasLimit, to, data },
      { common },
    );
    return { kind: 'transaction', raw: tx.sign(keys[of] ?? new Uint8Array()).serialize() } as const;
  };
  const seal = async (limits: Partial<SealingLimits>, ...items: ReturnType<typeof item>[]): Promise<UncommittedBlock> =>
    await executor.seal(first.header, { ...attributes, limits: { ...unlimited, ...limits } }, items);
  return { seal, item };
}

type Item = ReturnType<Awaited<ReturnType<typeof begin>>['item']>;

const kinds = ({ outcomes }: UncommittedBlock) => outcomes.map(({ kind }) => kind);
const bytesOf = (outcome: Outcome | undefined) =>
  outcome?.kind === 'executed' ? JSON.stringify(loggedReceipt(outcome)).length : Number.NaN;

test('a block is closed where its fact is full, and leaves the rest in the order of each sender', async () => {
  const { seal, item } = await begin();
  const [ten] = (await seal({}, item(0, 0, 10))).outcomes;
  expect(bytesOf(ten)).toBeGreaterThan(200_000);
  const most = { bytes: 250_000 };
  const sealed = await seal(most, item(0, 0, 10), item(1, 0, 10), item(1, 1, 0), item(2, 0, 0));
  expect(kinds(sealed)).toEqual(['executed', 'left', 'left', 'executed']);
  const without = await seal({}, item(0, 0, 10), item(2, 0, 0));
  expect(sealed.hash, 'of what was left nothing remains').toBe(without.hash);
});

test('what fits no empty block is refused with its size', async () => {
  const { seal, item } = await begin();
  const sealed = await seal({ bytes: 100_000 }, item(0, 0, 10), item(1, 0, 0));
  expect(sealed.outcomes[0]).toMatchObject({ kind: 'refused', reason: expect.stringMatching(/fits no block: 2\d{5}/) });
  expect(sealed.hash).toBe((await seal({}, item(1, 0, 0))).hash);
});

test('a transaction that takes too long is dropped, and nothing else of the block', async () => {
  const { seal, item } = await begin();
  const [first, last] = [0, 2].map((of) => item(of, 0, 1, writer, 500_000n)) as [Item, Item];
  const { hash } = await seal({}, first, last);
  const items = [first, item(1, 0, 0, reader, 24_000_000n), last];
  const sealed = await seal({ transactionMs }, ...items);
  expect(sealed.outcomes[1]).toMatchObject({ kind: 'refused', reason: expect.stringContaining('longer') });
  expect(kinds(sealed).filter((kind) => kind === 'executed')).toHaveLength(2);
  expect(sealed.hash).toBe(hash);
});

test('a loop that reads nothing is dropped as well', async () => {
  const { seal, item } = await begin();
  const { hash } = await seal({}, item(1, 0, 1));
  const sealed = await seal({ transactionMs }, item(0, 0, 0, looper, 20_000_000n), item(1, 0, 1));
  expect(sealed.outcomes[0]).toMatchObject({ kind: 'refused', reason: expect.stringContaining('longer') });
  expect(sealed.hash).toBe(hash);
});

test('what its sender sent after a dropped transaction waits, and is not dropped with it', async () => {
  const { seal, item } = await begin();
  const items = [item(0, 0, 0, looper, 20_000_000n), item(0, 1, 1), item(1, 0, 1)];
  expect(kinds(await seal({ transactionMs }, ...items))).toEqual(['refused', 'left', 'executed']);
});

test('a built-in contract that would take minutes is not even called', async () => {
  const { seal, item } = await begin();
  const { hash } = await seal({}, item(1, 0, 1));
  const sealed = await seal({ transactionMs: 2_000 }, item(0, 0, 1_000_000, power, 20_000_000n), item(1, 0, 1));
  expect(sealed.outcomes[0]).toMatchObject({ kind: 'refused', reason: expect.stringContaining('longer') });
  expect(sealed.hash).toBe(hash);
  const paid = await seal({ transactionMs: 2_000 }, item(0, 0, 1_000, power, 5_000_000n));
  expect(kinds(paid)).toEqual(['executed']);
});

test('a block whose time is over leaves what has not run', async () => {
  const { seal, item } = await begin();
  expect(kinds(await seal({ blockMs: 0 }, item(0, 0, 1), item(1, 0, 1), item(0, 1, 1)))).toEqual([
    'executed',
    'left',
    'left',
  ]);
});
