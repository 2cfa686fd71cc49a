import { Common, Mainnet } from '@ethereumjs/common';
import { MerkleStateManager } from '@ethereumjs/statemanager';
import { Account, createAddressFromString, setLengthLeft } from '@ethereumjs/util';
import { expect, it } from 'vitest';
import { AppError } from '../../../../src/kit/errors.ts';
import { createNodeCache, TrieDb } from '../../../../src/edges/evm/executor/state/node-store.ts';
import { openState } from '../../../../src/edges/evm/executor/state/state.ts';
import { createMemoryNodes } from '../../../support/histories/memory-nodes.ts';
import { seeded } from '../../../support/histories/random-history.ts';

const addresses = Array.from({ length: 5 }, (_, at) => createAddressFromString(`0x${String(at + 1).repeat(40)}`));
const slots = Array.from({ length: 6 }, (_, at) => setLengthLeft(Uint8Array.of(at), 32));

type Kept = Readonly<{ balance: number; slots: ReadonlyMap<number, number> }>;

/** What the accounts are to have, by their place. */
type Model = ReadonlyMap<number, Kept>;

const slotless = new Map<number, number>();

/** The state root of a model, by the library, which keeps nothing in between. */
async function rootOf(model: Model, common: Common): Promise<Uint8Array> {
  const plain = new MerkleStateManager({ common });
  for (const [at, { balance, slots: kept }] of model) {
    const address = one(addresses, at);
    await plain.putAccount(address, new Account(0n, BigInt(balance)));
    for (const [slot, n] of kept) await plain.putStorage(address, one(slots, slot), Uint8Array.of(n));
  }
  return await plain.getStateRoot();
}

function one<T>(all: readonly T[], at: number): T {
  const found = all[at];
  if (found === undefined) throw new Error(`There is no ${at}`);
  return found;
}

it.each([1, 2, 3])(
  'what is read is what was written, whatever is undone, emptied and gone back to: seed %i',
  async (seed) => {
    const random = seeded(seed);
    const common = new Common({ chain: Mainnet });
    const state = openState(new TrieDb(createMemoryNodes(), createNodeCache()), common);
    const roots: Readonly<{ root: Uint8Array; of: Model }>[] = [];
    const open: Model[] = [];
    let model: Model = new Map();
    const act = async (what: number, at: number): Promise<Kept | undefined> => {
      const [address, before, n] = [one(addresses, at), model.get(at), 1 + random.below(5)];
      const account = await state.getAccount(address);
      if (what < 4) {
        await state.putAccount(address, Object.assign(account ?? new Account(), { balance: BigInt(n) }));
        // As the machine makes a contract: whatever lay at the address before is gone.
        if (!before) await state.clearStorage(address);
        return { slots: slotless, ...before, balance: n };
      }
      if (what === 9) await state.deleteAccount(address);
      if (what === 9 || !before) return undefined;
      const slot = random.below(slots.length);
      if (what < 8) await state.putStorage(address, one(slots, slot), Uint8Array.of(n));
      else await state.clearStorage(address);
      return { ...before, slots: what < 8 ? new Map(before.slots).set(slot, n) : slotless };
    };
    for (let step = 0; step < 300; step += 1) {
      const what = random.below(16);
      if (what < 10) {
        const at = random.below(addresses.length);
        const kept = await act(what, at);
        model = new Map([...model].filter(([other]) => other !== at).concat(kept ? [[at, kept]] : []));
      } else if (what < 12) {
        open.push(model);
        await state.checkpoint();
      } else if (what < 14 && open.length > 0) {
        const before = open.pop();
        await (what === 12 ? state.commit() : state.revert());
        if (what === 13 && before) model = before;
      } else if (what === 14 && open.length === 0) {
        const root = await state.getStateRoot();
        expect(root).toEqual(await rootOf(model, common));
        roots.push({ root, of: model });
      } else if (what === 15 && open.length === 0 && roots.length > 0) {
        const { root, of } = one(roots, random.below(roots.length));
        await state.setStateRoot(root);
        model = of;
      }
      for (const [at, address] of addresses.entries()) {
        expect((await state.getAccount(address))?.balance).toEqual(
          model.has(at) ? BigInt(model.get(at)?.balance ?? 0) : undefined,
        );
        const slot = random.below(slots.length);
        const value = model.get(at)?.slots.get(slot);
        expect(await state.getStorage(address, one(slots, slot))).toEqual(
          Uint8Array.from(value === undefined ? [] : [value]),
        );
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

it('slots are written to their trie once, for all that they were in between', async () => {
  const nodes = createMemoryNodes();
  const db = new TrieDb(nodes, createNodeCache());
  const state = openState(db, new Common({ chain: Mainnet }));
  const [address] = addresses;
  if (!address) throw new Error('There are addresses');
  await state.putAccount(address, new Account(1n, 1n));
  for (let n = 1; n < 9; n += 1) for (const slot of slots) await state.putStorage(address, slot, Uint8Array.of(n));
  expect(db.takeDirty().size).toBe(0);
  await state.getStateRoot();
  const once = db.takeDirty().size;
  expect(once).toBeGreaterThan(0);
  expect(once).toBeLessThanOrEqual(2 * slots.length + 1);
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
