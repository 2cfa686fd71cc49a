import { createContract, parseAbi } from 'micro-eth-signer/abi.js';
import { describe, expect, test } from 'vitest';
import type { Action, Genesis, SuperNode } from '../../../src/commands/ledger/chain.ts';
import { recordsOf } from '../../../src/commands/ledger/records.ts';
import { accountOfEvm } from '../../../src/edges/chain/sign/addresses.ts';
import { actionAbi } from '../../../src/edges/evm/contracts/abi.ts';
import { contractAddresses } from '../../../src/edges/evm/contracts/addresses.ts';
import { Meter } from '../../../src/edges/evm/contracts/gas.ts';
import { StoredChain } from '../../../src/edges/evm/contracts/rules.ts';
import { call, estimate } from '../../../src/edges/evm/executor/calls.ts';
import { createExecutor } from '../../../src/edges/evm/executor/executor.ts';
import { networkChain } from '../../../src/edges/evm/executor/state/genesis.ts';
import { createMemoryNodes } from '../../support/histories/memory-nodes.ts';
import type { NodeStore } from '../../../src/edges/evm/executor/state/node-store.ts';
import { createReader } from '../../../src/edges/evm/executor/reader.ts';
import { localBeginning } from '../../../src/edges/local-network/beginning.ts';

type Hex = `0x${string}`;

const seconds = 1_700_000_000;
const ledger: Genesis = { ...localBeginning(7, seconds * 1000).genesis, accounts: [] };
const contract = createContract(parseAbi([...actionAbi]));
const creators = ['a', 'b', 'c'].map((digit): Hex => `0x${digit.repeat(40)}`);
const attributes = {
  timestamp: BigInt(seconds + 10),
  baseFee: 10n ** 9n,
  gasLimit: 25_000_000n,
  coinbase: `0x${'cc'.repeat(20)}`,
} as const;

const actionOf = (id: number): Action => ({
  id: String(id),
  creator: accountOfEvm(creators[id % 3] ?? '0x'),
  type: 'ACTION_TYPE_CASCADE',
  metadata: null,
  price: 1n,
  expirationTime: seconds,
  state: id % 100 === 0 ? 'ACTION_STATE_DONE' : 'ACTION_STATE_PENDING',
  height: 1,
  superNodes: id % 100 === 0 ? [accountOfEvm(`0x${'d'.repeat(40)}`)] : [],
  fileSizeKbs: 1,
});
const nodeOf = (index: number): SuperNode => ({
  operator: `operator-${index}`,
  account: `account-${index}`,
  states: [{ state: 'SUPERNODE_STATE_ACTIVE', height: 1 }],
  addresses: [],
  accounts: [],
  note: '',
  p2pPort: '4445',
});

/** A chain with so many actions and nodes, read through a store that counts. */
async function holding({ actions = 0, nodes = 0 }: Readonly<{ actions?: number; nodes?: number }>) {
  const config = networkChain({ chainId: 76857769, seconds, accounts: {}, ledger });
  const memory = createMemoryNodes();
  const executor = createExecutor({ config, nodes: memory });
  const first = await executor.genesis();
  await first.commit();
  const records = recordsOf({
    tallies: { actions, evidence: 0, accounts: 0 },
    actions: new Map(Array.from({ length: actions }, (_, at) => [String(at + 1), actionOf(at + 1)])),
    nodes: new Map(Array.from({ length: nodes }, (_, at) => [`operator-${at}`, nodeOf(at)])),
    accounts: new Map(),
  });
  const sealed = await executor.seal(first.header, attributes, [{ kind: 'accounts', accounts: [], records }]);
  await sealed.commit();
  let reads = 0;
  const counting: NodeStore = {
    ...memory,
    get: async (hash) => {
      reads += 1;
      return await memory.get(hash);
    },
  };
  const reader = createReader({ config, nodes: counting });
  const request = (name: string, given: unknown) =>
    ({ to: contractAddresses.action, data: hex(contract[name]?.encodeInput(given)) }) as const;
  const list = async (name: string, given: object, gas?: bigint) => {
    const wanted = { ...request(name, given), ...(gas !== undefined && { gas: `0x${gas.toString(16)}` as const }) };
    const answer = await call(reader, { at: sealed.header, request: wanted, gasCap: 50_000_000n });
    return contract[name]?.decodeOutput(answer) as { actions: { actionId: string }[]; total: bigint };
  };
  const cost = async (name: string, given: object) =>
    await estimate(reader, { at: sealed.header, request: request(name, given), gasCap: 50_000_000n });
  return { reader, at: sealed.header, list, cost, reads: () => reads };
}

const hex = (bytes: Uint8Array | undefined): Hex => `0x${Buffer.from(bytes ?? []).toString('hex')}`;
const ids = ({ actions }: { actions: { actionId: string }[] }) => actions.map(({ actionId }) => Number(actionId));

describe('lists of the contract of actions', { tags: ['S1.evm.contracts'] }, () => {
  test('hold the page in the order of ids, and the exact total', async () => {
    const { list } = await holding({ actions: 700 });
    const pending = await list('getActionsByState', { state: 1n, offset: 297n, limit: 3n });
    expect([ids(pending), pending.total]).toEqual([[300, 301, 302].map((id) => id + (id < 300 ? 0 : 1)), 693n]);
    const done = await list('getActionsByState', { state: 3n, offset: 5n, limit: 0n });
    expect([ids(done), done.total]).toEqual([[600, 700], 7n]);
    const mine = await list('getActionsByCreator', { creator: creators[0], offset: 0n, limit: 2n });
    expect([ids(mine), mine.total]).toEqual([[3, 6], 233n]);
    const stored = await list('getActionsBySuperNode', { superNode: `0x${'d'.repeat(40)}`, offset: 6n, limit: 9n });
    expect([ids(stored), stored.total]).toEqual([[700], 7n]);
    const none = await list('getActionsByState', { state: 1n, offset: 2n ** 64n - 1n, limit: 1n });
    expect([ids(none), none.total]).toEqual([[], 693n]);
  });

  test('cost what their page holds, not what there is', async () => {
    const [few, many] = [await holding({ actions: 20 }), await holding({ actions: 500 })];
    const page = { state: 1n, offset: 0n, limit: 5n };
    expect(await many.cost('getActionsByState', page)).toBeLessThan(
      (await few.cost('getActionsByState', page)) + 50_000n,
    );
  });

  test('read nothing that the call does not pay', async () => {
    const { list, reads } = await holding({ actions: 300 });
    await list('getActionsByState', { state: 7n, offset: 0n, limit: 1n });
    const before = reads();
    const page = { state: 1n, offset: 0n, limit: 100n };
    await expect(list('getActionsByState', page, 30_000n)).rejects.toThrow('out of gas');
    const unpaid = reads() - before;
    await list('getActionsByState', page);
    const paid = reads() - before - unpaid;
    expect(unpaid).toBeLessThan(20);
    expect(paid).toBeGreaterThan(100);
  });
});

test('a rule over all nodes runs twice, however many nodes there are', async () => {
  const { reader, at } = await holding({ nodes: 300 });
  const counted = await reader.read(at, async ({ machine }) => {
    let runs = 0;
    const meter = new Meter(50_000_000n);
    const nodes = await new StoredChain(ledger, machine.state, meter).run((chain) => {
      runs += 1;
      return [...chain.nodes()].length;
    });
    return { runs, nodes };
  });
  expect(counted).toEqual({ runs: 2, nodes: 300 });
});
