import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { encodeStored, type Manifest } from '../../../../src/edges/node/storage/manifest.ts';
import { hashPiece } from '../../../../src/edges/node/storage/piece-hash.ts';
import { createRoom, NoRoom } from '../../../../src/edges/node/storage/room.ts';
import { openStorage, type StorageOptions } from '../../../../src/edges/node/storage/storage.ts';
import { freshFolder } from '../../../support/programs/fresh-folder.ts';

const undo: (() => void)[] = [];
afterEach(() => {
  for (const back of undo.splice(0)) back();
});

function place(): string {
  const { folder, remove } = freshFolder();
  undo.push(remove);
  return folder;
}

const opened = (options: Partial<StorageOptions> & { folder: string }) => openStorage({ bound: -1, ...options });
const piece = Buffer.from('some bytes');
const hash = hashPiece(piece);
const fileOf = (folder: string): string => path.join(folder, 'pieces', hash.slice(0, 2), hash);

/** What a file's manifest takes on the disk. */
const recordBytes = (manifest: Manifest): number => encodeStored({ ...manifest, isFinalized: false }).length;

/** A folder in place of a file: the disk does not give it, as with EIO. */
function replaceByFolder(file: string): void {
  rmSync(file);
  mkdirSync(file);
}

describe('pieces', () => {
  it(
    'are read back as they were written, also by who opens the store anew',
    { tags: ['S1.storage.pieces'] },
    async () => {
      const folder = place();
      const store = await opened({ folder });
      expect(await store.pieces.put(piece)).toBe(hash);
      expect(await store.pieces.put(piece)).toBe(hash);
      const again = await opened({ folder });
      await again.loaded;
      expect(await again.pieces.get(hash)).toEqual(piece);
      expect([store.used(), again.used()]).toEqual([piece.length, piece.length]);
    },
  );

  it('that are damaged are given to nobody, and removed', { tags: ['S1.storage.pieces'] }, async () => {
    const folder = place();
    const store = await opened({ folder });
    await store.pieces.put(piece);
    writeFileSync(fileOf(folder), 'other bytes');
    expect(await store.pieces.get(hash)).toBeUndefined();
    expect(await store.pieces.has(hash)).toBe(false);
  });

  it('that are damaged on the disk are mended by good bytes', { tags: ['S1.storage.pieces'] }, async () => {
    const folder = place();
    const store = await opened({ folder, bound: piece.length });
    await store.pieces.put(piece);
    for (const damage of [() => writeFileSync(fileOf(folder), 'other'), () => replaceByFolder(fileOf(folder))]) {
      damage();
      expect(await store.pieces.put(piece)).toBe(hash);
      expect(await store.pieces.get(hash)).toEqual(piece);
      expect([store.used(), store.index.counts()]).toEqual([piece.length, { pieces: 1, bytes: piece.length }]);
    }
  });

  it('that the disk does not give are none, and stay where they are', { tags: ['S1.storage.pieces'] }, async () => {
    const folder = place();
    const store = await opened({ folder });
    await store.pieces.put(piece);
    replaceByFolder(fileOf(folder));
    expect(await store.pieces.get(hash)).toBeUndefined();
    expect(await store.pieces.has(hash)).toBe(false);
    expect(existsSync(fileOf(folder))).toBe(true);
  });

  it('of which a damaged one leaves give back the room that they took', async () => {
    const folder = place();
    const store = await opened({ folder });
    await store.pieces.put(piece);
    writeFileSync(fileOf(folder), 'many more bytes than the piece has');
    expect(await store.pieces.get(hash)).toBeUndefined();
    expect(store.used()).toBe(0);
  });

  it('that two files adopt at once are counted once', async () => {
    const store = await opened({ folder: place() });
    const drafts = await Promise.all(Array.from({ length: 8 }, () => store.receive()));
    for (const draft of drafts) {
      await draft.add(piece);
      await draft.finish();
    }
    await Promise.all(drafts.map((draft) => draft.adopt()));
    await Promise.all(drafts.map((draft) => draft.discard()));
    expect(store.used()).toBe(piece.length);
  });

  it('stay as long as a file has them, and go an hour after', { tags: ['S1.storage.pieces'] }, async () => {
    let nowMs = Date.now();
    const store = await opened({ folder: place(), now: () => nowMs });
    const draft = await store.receive();
    await draft.add(piece);
    const dataHash = await draft.finish();
    const manifest = { actionId: '7', dataHash, size: piece.length, pieces: await draft.adopt() };
    await store.keep(manifest);
    await draft.discard();
    nowMs += 3_700_000;
    await store.sweep();
    expect(await store.pieces.get(hash)).toEqual(piece);
    await store.pieces.put(piece);
    await store.forget('7');
    await store.sweep();
    expect(await store.pieces.has(hash)).toBe(true);
    nowMs += 3_700_000;
    await store.sweep();
    expect(await store.pieces.has(hash)).toBe(false);
    expect(store.used()).toBe(piece.length + recordBytes(manifest));
    nowMs += 86_500_000;
    await store.sweep();
    expect(store.used()).toBe(0);
  });
});

describe('a file that is being received', () => {
  it('leaves nothing when it is given up, or when the store is opened after a crash', async () => {
    const folder = place();
    const store = await opened({ folder });
    const draft = await store.receive();
    await draft.add(Buffer.alloc(1_200_000));
    await draft.discard();
    expect([store.used(), readdirSync(path.join(folder, 'incoming'))]).toEqual([0, []]);
    const crashed = await store.receive();
    await crashed.add(Buffer.alloc(1_200_000));
    await crashed.finish();
    const again = await opened({ folder });
    expect([again.used(), readdirSync(path.join(folder, 'incoming'))]).toEqual([0, []]);
  });

  it('is finished once the disk has all of it', { tags: ['S1.register.order'] }, async () => {
    const disk = Promise.withResolvers<void>();
    const store = await opened({ folder: place(), writePiece: async () => await disk.promise });
    const draft = await store.receive();
    await draft.add(Buffer.alloc(1_200_000));
    let isFinished = false;
    const finished = draft.finish().then(() => (isFinished = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(isFinished).toBe(false);
    disk.resolve();
    expect(await finished).toBe(true);
    await draft.discard();
    const failing = await opened({ folder: place(), writePiece: async () => Promise.reject(new Error('EIO')) });
    const lost = await failing.receive();
    await lost.add(Buffer.alloc(1_200_000));
    await expect(lost.finish()).rejects.toThrow('EIO');
    await lost.discard();
    expect(failing.used()).toBe(0);
  });

  it('counts bytes once that are stored already', async () => {
    let records = 0;
    const store = await opened({ folder: place() });
    for (const actionId of ['1', '2']) {
      const draft = await store.receive();
      await draft.add(Buffer.alloc(2_500_000));
      const dataHash = await draft.finish();
      const manifest = { actionId, dataHash, size: 2_500_000, pieces: await draft.adopt() };
      await store.keep(manifest);
      records += recordBytes(manifest);
      await draft.discard();
    }
    expect(store.used()).toBe(2 ** 20 + (2_500_000 - 2 * 2 ** 20) + records);
  });

  it('counts its manifest, also after a start, and is refused where that has no room', async () => {
    const folder = place();
    const manifest = { actionId: '7', dataHash: 'h'.repeat(44), size: piece.length, pieces: [hash] };
    const bound = recordBytes(manifest);
    const store = await opened({ folder, bound });
    await store.keep(manifest);
    expect(store.used()).toBe(bound);
    await expect(store.keep({ ...manifest, actionId: '8' })).rejects.toThrow(NoRoom);
    await store.keep(manifest);
    const again = await opened({ folder, bound });
    await again.loaded;
    expect([again.used(), await again.files()]).toEqual([bound, ['7']]);
  });
});

describe('manifests', () => {
  it('keep what is known of their actions, also for who opens the store anew', async () => {
    const folder = place();
    const store = await opened({ folder });
    const manifest = { actionId: '7', dataHash: 'h'.repeat(44), size: 10, pieces: [hash] };
    await store.keep(manifest);
    await store.mark('7', { isFinalized: true, group: ['a', 'b'] });
    await store.keep(manifest);
    const again = await opened({ folder });
    await again.loaded;
    for (const one of [store, again])
      expect(one.index.file('7')).toEqual({ ...manifest, isFinalized: true, group: ['a', 'b'] });
  });

  it('that the disk has lost are written anew, and keep pieces of all files while they are not', async () => {
    const folder = place();
    let nowMs = Date.now();
    const store = await opened({ folder });
    await store.pieces.put(piece);
    await store.keep({ actionId: '7', dataHash: 'h'.repeat(44), size: piece.length, pieces: [hash] });
    writeFileSync(path.join(folder, 'files', '7'), 'nothing');
    const again = await opened({ folder, now: () => nowMs });
    await again.loaded;
    expect(again.unreadable()).toEqual(['7']);
    nowMs += 3_700_000;
    await again.sweep();
    expect(await again.pieces.has(hash)).toBe(true);
    await store.check('7');
    expect(await store.manifest('7')).toMatchObject({ pieces: [hash] });
  });

  it('that cannot be read are none', async () => {
    const folder = place();
    const store = await opened({ folder });
    await store.keep({ actionId: '7', dataHash: 'h'.repeat(44), size: 10, pieces: [hash] });
    expect(await store.manifest('7')).toMatchObject({ pieces: [hash] });
    const file = path.join(folder, 'files', '7');
    const text = readFileSync(file, 'utf8');
    for (const bad of ['', '{', 'null', text.replace('"size":10', '"size":-1'), text.replace(hash, '../x')]) {
      writeFileSync(file, bad);
      expect(await store.manifest('7')).toBeUndefined();
    }
  });
});

describe('room', () => {
  it('ends at its bound, and before the disk is full', { tags: ['S1.storage.room'] }, async () => {
    const disk = { total: 100_000_000n, available: 11_000_000n };
    const room = createRoom({ folder: '/', bound: 2_000_000, used: 0 }, async () => disk);
    await room.take(1_000_000);
    await expect(room.take(1_000_001)).rejects.toBeInstanceOf(NoRoom);
    room.giveBack(1_000_000);
    expect(room.used()).toBe(0);
    const wide = createRoom({ folder: '/', bound: -1, used: 0 }, async () => disk);
    await expect(wide.take(1_000_001)).rejects.toBeInstanceOf(NoRoom);
    await wide.take(1_000_000);
    const large = { total: 10n ** 14n, available: 6n * 2n ** 30n };
    await createRoom({ folder: '/', bound: -1, used: 0 }, async () => large).take(2 ** 30);
  });
});
