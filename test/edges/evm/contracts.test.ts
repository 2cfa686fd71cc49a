import { createFeeMarket1559Tx } from '@ethereumjs/tx';
import { createAddressFromPrivateKey } from '@ethereumjs/util';
import { createContract, parseAbi } from 'micro-eth-signer/abi.js';
import { expect, test } from 'vitest';
import type { Genesis } from '../../../src/commands/ledger/chain.ts';
import { accountOfEvm, addressOf, prefixes } from '../../../src/edges/chain/sign/addresses.ts';
import { actionAbi, nodeAbi } from '../../../src/edges/evm/contracts/abi.ts';
import { contractAddresses } from '../../../src/edges/evm/contracts/addresses.ts';
import { code as codeOf } from '../../../src/edges/evm/executor/state/account-reads.ts';
import { call, estimate } from '../../../src/edges/evm/executor/calls.ts';
import { createExecutor, type UncommittedBlock } from '../../../src/edges/evm/executor/executor.ts';
import { type GenesisAccounts, networkChain } from '../../../src/edges/evm/executor/state/genesis.ts';
import { createMemoryNodes } from '../../support/histories/memory-nodes.ts';
import type { Hex, Outcome } from '../../../src/edges/evm/executor/outcome.ts';
import { createReader } from '../../../src/edges/evm/executor/reader.ts';
import { simulate } from '../../../src/edges/evm/executor/simulate/simulate.ts';
import type { Attributes } from '../../../src/edges/evm/executor/sealing.ts';

const key = new Uint8Array(32).fill(7);
const creator = createAddressFromPrivateKey(key).toString();
const stranger = createAddressFromPrivateKey(new Uint8Array(32).fill(8)).toString();
const actions = createContract(parseAbi([...actionAbi]));
const nodes = createContract(parseAbi([...nodeAbi]));
const operator = addressOf(prefixes.operator, Buffer.from(creator.slice(2), 'hex'));
const seconds = 1_700_000_000;
const ether = 10n ** 18n;
const module = (digit: string) => accountOfEvm(`0x${digit.repeat(40)}`);

const ledger: Genesis = {
  params: {
    denom: 'ulume',
    baseActionFee: '10000',
    feePerKbyte: '10',
    expirationSeconds: 45,
    maxRaptorQSymbols: 2,
    maxDdAndFingerprints: 1,
    maxActionsPerBlock: 10,
    poolShareBps: 200,
    minimumStake: '1',
  },
  modules: { action: module('a'), supernode: module('b'), feeCollector: module('c') },
  accounts: [],
  validators: [{ operator, consensusKey: '', moniker: 'one', tokens: '1', isJailed: false }],
  contracts: 2,
};

const attributes: Attributes = {
  timestamp: BigInt(seconds + 10),
  baseFee: 2n * 10n ** 9n,
  gasLimit: 25_000_000n,
  coinbase: `0x${'cc'.repeat(20)}`,
};

/** Contracts that hand what they are called with on to the contract of actions, in four ways. */
const hands = {
  calling: ['0x00000000000000000000000000000000000000c1', '365f5f375f5f365f5f6109015af15f5260205ff3'],
  reverting: ['0x00000000000000000000000000000000000000c2', '365f5f375f5f365f5f6109015af15f5ffd'],
  delegating: ['0x00000000000000000000000000000000000000c3', '365f5f375f5f365f6109015af45f5260205ff3'],
  looking: ['0x00000000000000000000000000000000000000c4', '365f5f375f5f365f6109015afa5f5260205ff3'],
} as const;

async function begin() {
  const balance = '0xde0b6b3a7640000';
  const people = [creator, stranger].map((address) => [address, { balance }] as const);
  const contracts = Object.values(hands).map(([address, code]) => [address, { balance, code: `0x${code}` }] as const);
  const accounts = Object.fromEntries([...people, ...contracts]) as GenesisAccounts;
  const config = networkChain({ chainId: 76857769, seconds, accounts, ledger });
  const memory = createMemoryNodes();
  const executor = createExecutor({ config, nodes: memory });
  const first = await executor.genesis();
  await first.commit();
  const reader = createReader({ config, nodes: memory });
  let head: UncommittedBlock = first;
  const raw = (nonce: bigint, to: Hex, data: Uint8Array, secret = key, value = 0n) =>
    createFeeMarket1559Tx(
      { chainId: 76857769n, nonce, maxFeePerGas: 10n ** 10n, gasLimit: 2_000_000n, to, data, value },
      { common: executor.forks.at({ number: 1n, timestamp: attributes.timestamp }) },
    )
      .sign(secret)
      .serialize();
  const seal = async (...sent: Uint8Array[]): Promise<readonly Outcome[]> => {
    const items = sent.map((one) => ({ kind: 'transaction', raw: one }) as const);
    const timestamp = attributes.timestamp + head.number;
    const sealed = await executor.seal(head.header, { ...attributes, timestamp }, items);
    await sealed.commit();
    head = sealed;
    return sealed.outcomes;
  };
  const ask = async (
    name: string,
    given: unknown,
    [of, to] = [actions, contractAddresses.action],
  ): Promise<unknown> => {
    const request = { to, data: hex(of[name]?.encodeInput(given)) };
    return of[name]?.decodeOutput(await call(reader, { at: head.header, request, gasCap: 50_000_000n }));
  };
  return { raw, seal, ask, reader, head: () => head };
}

const hex = (bytes: Uint8Array | undefined): Hex => `0x${Buffer.from(bytes ?? []).toString('hex')}`;

const requested = {
  dataHash: 'a hash',
  fileName: 'a file',
  rqIdsIc: 5n,
  signatures: 'index.signature',
  price: 10_060n,
  expirationTime: BigInt(seconds + 1_000),
  fileSizeKbs: 1n,
  commitment: {
    commitmentType: '',
    hashAlgo: 0n,
    chunkSize: 0n,
    totalSize: 0n,
    numChunks: 0n,
    root: new Uint8Array(),
    challengeIndices: [],
  },
};
const request = (change: Partial<typeof requested> = {}) =>
  actions['requestCascade']?.encodeInput({ ...requested, ...change }) ?? new Uint8Array();

test('an estimate suffices in a later block, whose height and balances have more digits', async () => {
  const { reader, head, seal } = await begin();
  for (let block = 1; block < 4; block += 1) await seal();
  const asking = { from: creator, to: contractAddresses.action, data: hex(request()) } as const;
  const on = { at: head().header, gasCap: 50_000_000n };
  const gas = await estimate(reader, { ...on, request: asking });
  const later = { ...on, blockOverrides: { number: '0x3b9aca00' } } as const;
  const asked = { ...asking, gas: `0x${gas.toString(16)}` } as const;
  expect(actions['requestCascade']?.decodeOutput(await call(reader, { ...later, request: asked }))).toBe('1');
});

test(
  'a registered action is there for calls, with its logs and what the chain tells of it',
  { tags: ['S1.evm.contracts'] },
  async () => {
    const { raw, seal, ask } = await begin();
    const [outcome] = await seal(raw(0n, contractAddresses.action, request()));
    if (outcome?.kind !== 'executed') throw new Error(JSON.stringify(outcome));
    expect(outcome.transaction.error).toBeUndefined();
    expect(actions['requestCascade']?.decodeOutput(outcome.transaction.returned)).toBe('1');
    expect(outcome.transaction.logs.map(({ address, topics }) => [address, topics[0]?.slice(0, 10)])).toEqual([
      [contractAddresses.action, '0xbad69ede'],
    ]);
    expect(outcome.events.map(({ type }) => type)).toEqual([
      'coin_spent',
      'coin_received',
      'transfer',
      'message',
      'action_registered',
    ]);
    expect(outcome.records.map(({ table, id }) => `${table} ${id}`)).toEqual(['action 1', 'tallies ']);
    const paid = outcome.touched.find(({ address }) => address === `0x${'a'.repeat(40)}`);
    expect(paid?.balance).toBe(10_060n * 10n ** 12n);
    expect(await ask('getAction', '1')).toMatchObject({ creator, actionType: 2n, state: 1n, price: 10_060n });
    expect(await ask('getActionsByCreator', { creator, offset: 0n, limit: 10n })).toMatchObject({ total: 1n });
    expect(await ask('getActionsByState', { state: 3n, offset: 0n, limit: 10n })).toMatchObject({ total: 0n });
  },
);

test('who is refused leaves nothing but the gas that it cost', { tags: ['S1.evm.contracts'] }, async () => {
  const { raw, seal, ask } = await begin();
  const approve = actions['approveAction']?.encodeInput('1') ?? new Uint8Array();
  const outcomes = await seal(
    raw(0n, contractAddresses.action, request()),
    raw(1n, contractAddresses.action, request({ price: 1n })),
    raw(2n, contractAddresses.action, request(), key, ether / 10n),
    raw(3n, contractAddresses.action, new Uint8Array([1, 2, 3, 4])),
    raw(0n, contractAddresses.action, approve, new Uint8Array(32).fill(8)),
  );
  const told = outcomes.map((one) =>
    one.kind === 'executed' ? [one.transaction.error, one.events.length] : [one.kind],
  );
  expect(told).toEqual([
    [undefined, 5],
    ['revert', 0],
    ['revert', 0],
    ['revert', 0],
    ['revert', 0],
  ]);
  expect(await ask('getActionsByState', { state: 1n, offset: 0n, limit: 10n })).toMatchObject({ total: 1n });
  await expect(ask('getAction', '2')).rejects.toThrow('action 2 not found');
});

test('a contract calls in its own name, and its frame takes back what it reverts', async () => {
  const { raw, seal, ask } = await begin();
  const outcomes = await seal(
    raw(0n, hands.calling[0], request()),
    raw(1n, hands.reverting[0], request()),
    raw(2n, hands.delegating[0], request()),
    raw(3n, hands.looking[0], request()),
  );
  const told = outcomes.map((one) =>
    one.kind === 'executed'
      ? [Number(hex(one.transaction.returned)), one.events.length, one.transaction.logs.length]
      : [],
  );
  expect(told).toEqual([
    [1, 5, 1],
    [Number.NaN, 0, 0],
    [0, 0, 0],
    [0, 0, 0],
  ]);
  expect(await ask('getAction', '1')).toMatchObject({ creator: hands.calling[0] });
  expect(await ask('getActionsByState', { state: 1n, offset: 0n, limit: 10n })).toMatchObject({ total: 1n });
  const approve = actions['approveAction']?.encodeInput('1') ?? new Uint8Array();
  const [wrong] = await seal(raw(4n, contractAddresses.action, approve));
  expect(wrong).toMatchObject({ transaction: { error: 'revert' }, events: [] });
});

test('a simulation shows what a contract answers and logs, and leaves nothing', async () => {
  const { ask, reader, head } = await begin();
  const calls = [contractAddresses.action, hands.calling[0]].map((to) => ({ from: creator, to, data: hex(request()) }));
  const options = { validation: false, traceTransfers: false, returnFullTransactions: false, gasCap: 50_000_000n };
  const shown = await simulate(reader, { at: head().header, blockStateCalls: [{ calls }], ...options });
  const log = { address: contractAddresses.action, blockNumber: '0x1' };
  expect(shown).toMatchObject([
    {
      calls: [
        { status: '0x1', logs: [{ ...log, logIndex: '0x0' }] },
        { status: '0x1', returnData: expect.stringMatching(/1$/), logs: [{ ...log, logIndex: '0x1' }] },
      ],
    },
  ]);
  expect(await ask('getActionsByState', { state: 1n, offset: 0n, limit: 10n })).toMatchObject({ total: 0n });
});

test('a block with calls of the contracts executes to the same again', { tags: ['S1.evm.verified'] }, async () => {
  const { raw, seal, head } = await begin();
  await seal(raw(0n, contractAddresses.action, request()), raw(1n, hands.reverting[0], request()));
  const again = await begin();
  const items = [raw(0n, contractAddresses.action, request()), raw(1n, hands.reverting[0], request())];
  await again.seal(...items);
  expect(again.head().hash).toBe(head().hash);
});

test('a SuperNode is registered, updated, stopped and listed by its operator alone', async () => {
  const { raw, seal, ask } = await begin();
  const input = (name: string, given: unknown) => nodes[name]?.encodeInput(given) ?? new Uint8Array();
  const to = contractAddresses.supernode;
  const about = {
    validatorAddress: operator,
    ipAddress: '192.0.2.1:4444',
    supernodeAccount: 'lumera1node',
    p2pPort: '',
  };
  const outcomes = await seal(
    raw(0n, to, input('registerSupernode', about)),
    raw(1n, to, input('updateSupernode', { ...about, ipAddress: '192.0.2.2:4444', note: '2.0' })),
    raw(2n, to, input('stopSupernode', { validatorAddress: operator, reason: 'rest' })),
    raw(0n, to, input('startSupernode', operator), new Uint8Array(32).fill(8)),
  );
  const told = outcomes.map((one) =>
    one.kind === 'executed' ? [one.transaction.error, one.events.map(({ type }) => type).at(-1)] : [],
  );
  expect(told).toEqual([
    [undefined, 'supernode_registered'],
    [undefined, 'supernode_updated'],
    [undefined, 'supernode_stopped'],
    ['revert', undefined],
  ]);
  const there = [nodes, to] as [typeof nodes, Hex];
  expect(await ask('getSuperNode', operator, there)).toMatchObject({
    currentState: 3n,
    ipAddress: '192.0.2.2:4444',
    note: '2.0',
  });
  expect(await ask('listSuperNodes', { offset: 0n, limit: 5n }, there)).toMatchObject({ total: 1n });
  const top = { blockHeight: 1n, limit: 5n, state: 3n };
  expect(await ask('getTopSuperNodesForBlock', top, there)).toMatchObject([{ validatorAddress: operator }]);
  expect(await ask('getSuperNodeByAccount', 'lumera1node', there)).toMatchObject({ p2pPort: '4445' });
});

test('a refused call from a contract changes nothing of the code that is read afterwards', async () => {
  const { reader, head } = await begin();
  const [address, stored] = hands.calling;
  const at = head().header;
  const refused = { at, request: { from: address, to: creator, gas: '0x1' }, gasCap: 50_000_000n } as const;
  await expect(call(reader, refused)).rejects.toThrow('intrinsic gas too low: have');
  expect(hex(await codeOf(reader, { at, address }))).toBe(`0x${stored}`);
  await call(reader, { ...refused, request: { from: address, to: creator } });
  expect(hex(await codeOf(reader, { at, address }))).toBe(`0x${stored}`);
});
