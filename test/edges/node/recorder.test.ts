import { rm } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { createBans } from '../../../src/edges/node/peers/bans.ts';
import { type StorageRecorder, startRecorder } from '../../../src/edges/node/recorder.ts';
import { hashPiece, pieceBytes } from '../../../src/edges/node/storage/piece-hash.ts';
import { openStorage } from '../../../src/edges/node/storage/storage.ts';
import { freshFolder } from '../../support/programs/fresh-folder.ts';
import { until } from '../../support/polling.ts';
import { freshLog, silent } from '../ledger/ledger-under-test.ts';

let undo = new AsyncDisposableStack();
afterEach(async () => {
  await undo.disposeAsync();
  undo = new AsyncDisposableStack();
});

const account = 'lumera1node';

describe('what a node tells the log of its files', () => {
  it('is those of which it holds all pieces, and the one that it has lost', { tags: ['S1.facts'] }, async () => {
    const { log } = undo.use(await freshLog());
    const { folder, remove } = freshFolder();
    undo.defer(remove);
    let recorder: StorageRecorder | undefined;
    const storage = await openStorage({ folder, bound: -1, onChange: (action) => recorder?.changed(action) });
    const ending = new AbortController();
    const options = { log, account, storage, bans: createBans(), logger: silent, signal: ending.signal };
    const pieces = [Buffer.alloc(pieceBytes, 1), Buffer.alloc(10, 2)];
    const hashes = pieces.map((piece) => hashPiece(piece));
    const size = pieceBytes + 10;
    await storage.keep({ actionId: '7', dataHash: 'h'.repeat(44), size, pieces: hashes });
    await storage.keep({ actionId: '8', dataHash: 'h'.repeat(44), size: 10, pieces: hashes.slice(1) });
    await storage.pieces.put(pieces[1] ?? Buffer.alloc(0));
    recorder = startRecorder(options);
    const lastOf = async (action: string) =>
      (await log.last('file', [`${account}/${action}`])).get(`${account}/${action}`);
    const is = async (action: string, type: string): Promise<void> => {
      await until(`file ${action}: ${type}`, async () => (await lastOf(action))?.fact.type === type);
    };
    await is('8', 'FileStored');
    expect(await lastOf('7')).toBeUndefined();
    await storage.pieces.put(pieces[0] ?? Buffer.alloc(0));
    await is('7', 'FileStored');
    expect((await lastOf('7'))?.fact.data).toMatchObject({ known: { stored: true, bytes: String(size), pieces: 2 } });
    const [hash = ''] = hashes;
    await rm(path.join(folder, 'pieces', hash.slice(0, 2), hash));
    expect(await storage.pieces.get(hash)).toBeUndefined();
    await is('7', 'FileLost');
    expect((await lastOf('8'))?.fact.type).toBe('FileStored');
    await storage.pieces.put(pieces[0] ?? Buffer.alloc(0));
    await is('7', 'FileRepaired');
    ending.abort();
    await recorder.ended;
    await storage.forget('7');
    const again = new AbortController();
    const { ended } = startRecorder({ ...options, signal: again.signal });
    await is('7', 'FileLost');
    again.abort();
    await ended;
  });

  it('ends when it is stopped in the midst of a pass', { tags: ['S1.facts'], timeout: 30_000 }, async () => {
    const { log } = undo.use(await freshLog());
    const { folder, remove } = freshFolder();
    undo.defer(remove);
    const storage = await openStorage({ folder, bound: -1 });
    const ending = new AbortController();
    const options = { log, account, storage, bans: createBans(), logger: silent, signal: ending.signal };
    const { ended } = startRecorder(options);
    ending.abort();
    await ended;
  });
});
