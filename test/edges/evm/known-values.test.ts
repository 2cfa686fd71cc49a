import { Common, Mainnet } from '@ethereumjs/common';
import { Caches, MerkleStateManager } from '@ethereumjs/statemanager';
import { Account, type Address, createAddressFromString, setLengthLeft } from '@ethereumjs/util';
import { expect, it } from 'vitest';
import { AppError } from '../../../src/kit/errors.ts';
import { createNodeCache, TrieDb } from '../../../src/edges/evm/executor/state/node-store.ts';
import { openState } from '../../../src/edges/evm/executor/state/state.ts';
import { createMemoryNodes } from '../../support/histories/memory-nodes.ts';
import { seeded } from '../../support/histories/random-history.ts';

const addresses = Array.from({ length: 5 }, (_, at) => createAddressFromString(`0x${String(at + 1).repeat(40)}`));
const slots = Array.from({ length: 6 }, (_, at) => setLengthLeft(Uint8Array.of(at), 32));

type Write = Readonly<{ address: Address; slot: Uint8Array; n: number }>;

it.each([1, 2, 3])(
  'reads are those of the library, whatever is written, undone, emptied and gone back to: seed %i',
  async (seed) => {
    const random = seeded(seed);
    const common = new Common({ chain: Mainnet });
    const ours = openState(new TrieDb(createMemoryNodes(), createNodeCache()), common);
    const plain = new MerkleStateManager({ common, caches: new Caches() });
    const roots: Uint8Array[] = [];
    let depth = 0;
    const one = <T>(all: readonly T[]): T => random.pick(all as [T, ...T[]]);
    const act = async (state: MerkleStateManager, what: number, { address, slot, n }: Write) => {
      const account = await state.getAccount(address);
      if (what < 4) await state.putAccount(address, Object.assign(account ?? new Account(), { balance: BigInt(n) }));
      // As the machine makes a contract: whatever lay at the address before is gone.
      if (what < 4 && account === undefined) await state.clearStorage(address);
      if (what >= 4 && what < 8 && account) await state.putStorage(address, slot, Uint8Array.of(n));
      if (what === 8 && account) await state.clearStorage(address);
      if (what === 9) await state.deleteAccount(address);
    };
    for (let step = 0; step < 300; step += 1) {
      const what = random.below(16);
      const use = { address: one(addresses), slot: one(slots), n: 1 + random.below(5) };
      for (const state of [ours, plain]) {
        if (what < 10) await act(state, what, use);
        else if (what < 12) await state.checkpoint();
        else if (what < 14 && depth > 0) await (what === 12 ? state.commit() : state.revert());
      }
      if (what === 10 || what === 11) depth += 1;
      if ((what === 12 || what === 13) && depth > 0) depth -= 1;
      if (depth === 0 && what === 14) {
        const root = await plain.getStateRoot();
        expect(await ours.getStateRoot()).toEqual(root);
        roots.push(root);
      }
      if (depth === 0 && what === 15 && roots.length > 0) {
        const root = one(roots);
        for (const state of [ours, plain]) await state.setStateRoot(root);
      }
      for (const address of addresses) {
        expect((await ours.getAccount(address))?.serialize()).toEqual((await plain.getAccount(address))?.serialize());
        const slot = one(slots);
        expect(await ours.getStorage(address, slot)).toEqual(await plain.getStorage(address, slot));
      }
    }
  },
);

it('a value that was read at a root is not looked up again, until the store is said to have lost something', async () => {
  const nodes = createMemoryNodes();
  let reads = 0;
  const db = new TrieDb({ ...nodes, get: (hash) => ((reads += 1), nodes.get(hash)) }, createNodeCache());
  const state = openState(db, new Common({ chain: Mainnet }));
  const [address] = addresses;
  const [slot] = slots;
  if (!address || !slot) throw new Error('There are addresses and slots');
  await state.putAccount(address, new Account(1n, 1n));
  await state.putStorage(address, slot, Uint8Array.of(7));
  const root = await state.getStateRoot();
  await nodes.put({ nodes: db.takeDirty(), header: { number: 0n, hash: '', rlp: new Uint8Array() } });
  const readsOf = async (): Promise<number> => {
    const before = reads;
    await state.checkpoint();
    expect(await state.getStorage(address, slot)).toEqual(Uint8Array.of(7));
    await state.revert();
    return reads - before;
  };
  await state.setStateRoot(root);
  expect(await readsOf()).toBeGreaterThan(0);
  expect(await readsOf()).toBe(0);
  db.forget();
  expect(await readsOf()).toBeGreaterThan(0);
});

it('the store is not asked for a trie without a node', async () => {
  const nodes = createMemoryNodes();
  const asked: string[] = [];
  const db = new TrieDb({ ...nodes, get: (hash) => (asked.push(hash), nodes.get(hash)) }, createNodeCache());
  const state = openState(db, new Common({ chain: Mainnet }));
  for (const address of addresses) {
    await state.putAccount(address, new Account(1n, 1n));
    for (const slot of slots) expect(await state.getStorage(address, slot)).toEqual(new Uint8Array());
  }
  await state.getStateRoot();
  expect(asked).toEqual([]);
});

it('a write to storage fails where the store is away, and neither hangs nor is left to nobody', async () => {
  const nodes = createMemoryNodes();
  let isAway = false;
  const get: typeof nodes.get = async (hash) => {
    if (isAway) throw new AppError('UNAVAILABLE', 'The store is away for now');
    return await nodes.get(hash);
  };
  const db = new TrieDb({ ...nodes, get }, createNodeCache());
  const state = openState(db, new Common({ chain: Mainnet }));
  const [address] = addresses;
  if (!address) throw new Error('There are addresses');
  await state.putAccount(address, new Account(1n, 1n));
  for (const slot of slots) await state.putStorage(address, slot, Uint8Array.of(7));
  const root = await state.getStateRoot();
  await nodes.put({ nodes: db.takeDirty(), header: { number: 0n, hash: '', rlp: new Uint8Array() } });
  await state.setStateRoot(root);
  for (const slot of slots) await state.putStorage(address, slot, Uint8Array.of(8));
  // Going to a root writes what was read before once more; it is stored already.
  db.takeDirty();
  isAway = true;
  await expect(state.getStateRoot()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});
