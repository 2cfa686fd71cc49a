import { rm } from 'node:fs/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { createDataHasher } from '../../../src/edges/cascade/data-hash.ts';
import { hashPiece, pieceBytes } from '../../../src/edges/node/storage/piece-hash.ts';
import { decodeManifest, encodeManifest } from '../../../src/edges/node/storage/manifest.ts';
import { ranked } from '../../../src/edges/node/peers/rank.ts';
import { until } from '../../support/polling.ts';
import { bytesOf, downloaded, pendingAction, upload } from './files-under-test.ts';
import { loseAllPieces, networkUnderTest, piecesIn, ports, shownBy, type StoringNode } from './network-under-test.ts';

let undo = new AsyncDisposableStack();
afterEach(async () => {
  await undo.disposeAsync();
  undo = new AsyncDisposableStack();
});

const copies = 3;
const quick = { repairAfterMs: 1_500, repairEachMs: 300 };

function piecesOf(file: Buffer): string[] {
  const starts = Array.from({ length: Math.ceil(file.length / pieceBytes) }, (_, index) => index * pieceBytes);
  return starts.map((at) => hashPiece(file.subarray(at, at + pieceBytes)));
}

async function copiesAt(nodes: readonly StoringNode[], pieces: readonly string[]): Promise<number[]> {
  const stores = await Promise.all(nodes.map(async ({ storageFolder }) => new Set(await piecesIn(storageFolder))));
  return pieces.map((hash) => stores.filter((store) => store.has(hash)).length);
}

describe('five nodes', () => {
  it(
    'make the copies of one that is gone again, and give it back what its rank says when it returns',
    { tags: ['S1.peers.repair'] },
    async () => {
      const { ledger, cast, start } = await networkUnderTest(undo, 5, quick);
      const file = bytesOf('g', 3_300_000);
      const pieces = piecesOf(file);
      const accounts = cast.map(({ account }) => account);
      const [holder] = ranked(pieces[0] ?? '', accounts);
      const gonePlan = cast.find(({ account }) => account.account === holder?.account);
      if (!gonePlan) throw new Error('one of the cast ranks first');
      const others = await Promise.all(cast.filter((one) => one !== gonePlan).map((one) => start(one)));
      const gone = await start(gonePlan);
      const actionId = await pendingAction(ledger, file);
      await upload(others[0]?.grpc ?? '', actionId, file);
      expect(await piecesIn(gone.storageFolder)).toContain(pieces[0]);
      expect((await copiesAt([...others, gone], pieces)).every((count) => count >= copies)).toBe(true);

      await gone.stop();
      await until('each piece has as many copies elsewhere', async () =>
        (await copiesAt(others, pieces)).every((count) => count >= copies),
      );

      await rm(gone.storageFolder, { recursive: true });
      const returned = await start(gonePlan, gone.storageFolder);
      const itsOwn = pieces.filter((hash) =>
        ranked(hash, accounts)
          .slice(0, copies)
          .some(({ account }) => account === gonePlan.account.account),
      );
      expect(itsOwn).toContain(pieces[0]);
      await until('it holds what its rank says', async () => {
        const held = await piecesIn(returned.storageFolder);
        return itsOwn.every((hash) => held.includes(hash));
      });
      expect((await downloaded(returned.grpc, actionId)).bytes.equals(file)).toBe(true);
    },
  );

  it('ban one that gives wrong bytes, show so, and go on without it', { tags: ['S1.peers.wrong'] }, async () => {
    const { ledger, cast, start, impersonate } = await networkUnderTest(undo, 5);
    const file = bytesOf('w', 8_000_000);
    const accounts = cast.map(({ account }) => account);
    const firsts = piecesOf(file).map((hash) => ranked(hash, accounts)[0]?.account);
    const liar = cast.find(({ account }) => firsts.filter((first) => first === account.account).length >= 2);
    if (!liar) throw new Error('eight pieces have five nodes that may rank first');
    const honest = cast.filter((one) => one !== liar);
    await impersonate(liar, async () => ({ done: true, data: Buffer.from('other bytes') }));
    const [first, ...rest] = await Promise.all(honest.map((one) => start(one)));
    const actionId = await pendingAction(ledger, file);
    await upload(first?.grpc ?? '', actionId, file);
    for (const node of rest) {
      const shown = await until('it asked the liar twice', async () => {
        await loseAllPieces(node.storageFolder);
        expect((await downloaded(node.grpc, actionId)).bytes.equals(file)).toBe(true);
        const { ban_list } = (await shownBy(node)).p2p_metrics;
        return ban_list.length > 0 && ban_list;
      });
      const banned = { id: liar.account.account, ip: liar.host, port: ports.p2p };
      expect(shown).toEqual([expect.objectContaining(banned)]);
    }
  });

  it(
    'take the true manifest from one another where another node was told a false one first',
    { tags: ['S1.peers.wrong'] },
    async () => {
      const { ledger, cast, start, impersonate } = await networkUnderTest(undo, 3);
      const [liar, honest, fooled] = cast;
      if (!liar || !honest || !fooled) throw new Error('the cast has three');
      const [first, second] = [await start(honest), await start(fooled)];
      const host = await impersonate(liar, async () => ({ done: false }));
      const file = bytesOf('l', 2_200_000);
      const actionId = await pendingAction(ledger, file);
      const pieces = piecesOf(file);
      const hasher = await createDataHasher();
      hasher.update(file);
      const dataHash = hasher.digest();
      const truth = { actionId, dataHash, size: file.length, pieces };
      const lies = [
        { ...truth, pieces: pieces.toReversed() },
        { ...truth, size: file.length - 1 },
      ];
      const told = async (manifest: typeof truth) => {
        const peer = { account: fooled.account.account, ip: fooled.host, port: ports.p2p, isActive: true };
        return (await host.ask(peer, { case: 'putManifest', value: encodeManifest(manifest) })).done;
      };
      expect(await told(lies[0] ?? truth)).toBe(true);
      await upload(first.grpc, actionId, file);
      const answer = await host.ask(
        { account: fooled.account.account, ip: fooled.host, port: ports.p2p, isActive: true },
        { case: 'getManifest', value: actionId },
      );
      expect(decodeManifest(answer.data)).toEqual(truth);
      for (const lie of lies) expect(await told(lie)).toBe(false);
      await first.stop();
      expect((await downloaded(second.grpc, actionId)).bytes.equals(file)).toBe(true);
    },
  );
});
