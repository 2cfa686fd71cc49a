import { afterEach, describe, expect, it } from 'vitest';
import type { CascadeChain } from '../../../../src/edges/chain/files/chain.ts';
import { createEvidence } from '../../../../src/edges/node/storage/evidence.ts';
import { encodeStored } from '../../../../src/edges/node/storage/manifest.ts';
import { hashPiece } from '../../../../src/edges/node/storage/piece-hash.ts';
import { openStorage } from '../../../../src/edges/node/storage/storage.ts';
import { freshFolder } from '../../../support/programs/fresh-folder.ts';

const undo: (() => void)[] = [];
afterEach(() => {
  for (const back of undo.splice(0)) back();
});

const hourMs = 3_600_000;
const begin = Date.parse('2026-01-01T00:00:00Z');
const piece = Buffer.from('some bytes');
const hash = hashPiece(piece);
const manifest = { actionId: '7', dataHash: 'h'.repeat(44), size: piece.length, pieces: [hash] };

/** A store with one file, and a chain that says of it what the test wants. */
async function storeUnderTest() {
  const { folder, remove } = freshFolder();
  undo.push(remove);
  const chain = { state: 'pending' as string | undefined, height: 100, nowMs: Date.now(), isAway: false };
  const now = (): number => chain.nowMs;
  const asked: string[] = [];
  const answers = {
    head: async () => ({ chainId: 'c', height: chain.height, time: new Date(begin + chain.height).toISOString() }),
    action: async (id: string) => {
      asked.push(id);
      if (chain.isAway) throw new Error('out of reach');
      return chain.state === undefined ? undefined : { id, record: { chainState: chain.state } };
    },
  } as unknown as Pick<CascadeChain, 'action' | 'head'>;
  const open = async () => {
    const store = await openStorage({ folder, bound: -1, now });
    const evidence = createEvidence({ chain: answers, folder, now });
    return { store, sweep: async () => await store.sweep(await evidence.pass()) };
  };
  const opened = await open();
  await opened.store.pieces.put(piece);
  await opened.store.keep(manifest);
  const later = (hours: number, blocks = 1): void => {
    chain.nowMs += hours * hourMs + 1_000;
    chain.height += blocks;
  };
  return { ...opened, chain, later, open, asked };
}

describe('a stored file', () => {
  it.each(['pending', 'expired'])(
    'goes once the chain has said so twice, hours apart: %s',
    { tags: ['S1.storage.expired'] },
    async (state) => {
      const { store, sweep, chain, later } = await storeUnderTest();
      chain.state = state;
      await sweep();
      later(1.5);
      await sweep();
      later(1.5);
      await sweep();
      expect(await store.files()).toEqual(['7']);
      later(0.6);
      await sweep();
      expect([await store.files(), await store.pieces.get(hash)]).toEqual([[], undefined]);
    },
  );

  it('that went and came again goes only once the chain has said so twice of the new one', async () => {
    const { store, sweep, later } = await storeUnderTest();
    for (let pass = 0; pass < 2; pass += 1) {
      later(2.1);
      await sweep();
    }
    expect(await store.files()).toEqual([]);
    await sweep();
    await store.pieces.put(piece);
    await store.keep(manifest);
    later(2.1);
    await sweep();
    expect(await store.files()).toEqual(['7']);
  });

  it.each(['done', 'approved', 'failed', 'unknown to the chain', 'of a chain out of reach'])(
    'stays as the chain says: %s',
    { tags: ['S1.storage.expired'] },
    async (state) => {
      const { store, sweep, chain, later } = await storeUnderTest();
      chain.isAway = state.startsWith('of a chain');
      chain.state = state.startsWith('unknown') ? undefined : state;
      for (let pass = 0; pass < 4; pass += 1) {
        later(2.5);
        await sweep();
      }
      expect(await store.pieces.get(hash)).toEqual(piece);
    },
  );

  it(
    'stays while the chain stands still, or is behind what the node has seen, also after a start',
    {
      tags: ['S1.storage.expired'],
    },
    async () => {
      const { sweep, chain, later, open } = await storeUnderTest();
      chain.height = 500;
      await sweep();
      const passes = [() => later(3, 0), () => later(3, -400), () => later(3, 100), () => later(3, 100)];
      const { store, sweep: sweepAgain } = await open();
      for (const pass of passes) {
        pass();
        await sweepAgain();
      }
      expect(chain.height).toBeLessThan(500);
      expect(await store.pieces.get(hash)).toEqual(piece);
    },
  );

  it(
    'that was once finalized stays whatever the chain says later, also after a start',
    {
      tags: ['S1.storage.expired'],
    },
    async () => {
      const { sweep, chain, later, open, asked } = await storeUnderTest();
      chain.state = 'done';
      later(2);
      await sweep();
      chain.state = 'expired';
      const { store, sweep: sweepAgain } = await open();
      const before = asked.length;
      for (let pass = 0; pass < 3; pass += 1) {
        later(3);
        await sweepAgain();
      }
      expect(await store.pieces.get(hash)).toEqual(piece);
      expect(asked.length).toBe(before);
    },
  );

  it(
    'that went comes back within a day where the chain has its action done after all',
    {
      tags: ['S1.storage.expired'],
    },
    async () => {
      const { store, sweep, chain, later } = await storeUnderTest();
      for (let pass = 0; pass < 3; pass += 1) {
        later(3);
        await sweep();
      }
      expect(await store.files()).toEqual([]);
      chain.state = 'done';
      later(3);
      await sweep();
      expect([await store.files(), await store.pieces.get(hash)]).toEqual([['7'], piece]);
      expect(store.used()).toBe(piece.length + encodeStored({ ...manifest, isFinalized: false }).length);
    },
  );
});
