import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { createCascadeChain } from '../../../../src/edges/chain/files/chain.ts';
import { createChainClient } from '../../../../src/edges/chain/rest/client.ts';
import type { RealNode } from '../../../../src/edges/local-network/cast.ts';
import type { Ledger } from '../../../../src/edges/ledger/run-ledger.ts';
import { hashPiece } from '../../../../src/edges/node/storage/piece-hash.ts';
import { decodeManifest, encodeManifest } from '../../../../src/edges/node/storage/manifest.ts';
import { eventually, until } from '../../../support/polling.ts';
import { bytesOf, downloaded, manifestOf, pendingAction, piecesOf, upload } from '../files-under-test.ts';
import {
  loseAllPieces,
  networkUnderTest,
  peerOf,
  piecesIn,
  ports,
  shownBy,
  type StoringNode,
} from '../network-under-test.ts';

let undo = new AsyncDisposableStack();
afterEach(async () => {
  await undo.disposeAsync();
  undo = new AsyncDisposableStack();
});

const copies = 3;
const quick = { repairAfterMs: 1_500, repairEachMs: 300 };

/** Accounts that the chain names for an action, nearest first. */
async function groupOf(ledger: Ledger, actionId: string): Promise<readonly string[]> {
  const client = createChainClient(ledger.url, { restPrefix: '/LumeraProtocol/lumera' });
  undo.defer(client.close);
  const chain = createCascadeChain(client, { addressPrefix: 'lumera', signal: new AbortController().signal });
  return await chain.finalizers((await chain.action(actionId))?.record.height ?? 0);
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
      const actionId = await pendingAction(ledger, file);
      const group = await groupOf(ledger, actionId);
      const gonePlan = cast.find(({ account }) => account.account === group[0]);
      if (!gonePlan) throw new Error('one of the cast is nearest');
      const others = await Promise.all(cast.filter((one) => one !== gonePlan).map((one) => start(one)));
      const gone = await start(gonePlan);
      const farthest = others.find(({ account }) => account === group.at(-1));
      await upload(farthest?.grpc ?? '', actionId, file);
      expect((await piecesIn(gone.storageFolder)).toSorted()).toEqual(pieces.toSorted());
      expect((await copiesAt([...others, gone], pieces)).every((count) => count >= copies)).toBe(true);

      await gone.stop();
      await until('each piece has as many copies elsewhere', async () =>
        (await copiesAt(others, pieces)).every((count) => count >= copies),
      );

      await rm(gone.storageFolder, { recursive: true });
      const returned = await start(gonePlan, gone.storageFolder);
      await until('it holds what its rank says', async () => {
        const held = await piecesIn(returned.storageFolder);
        return pieces.every((hash) => held.includes(hash));
      });
      expect((await downloaded(returned.grpc, actionId)).bytes.equals(file)).toBe(true);
    },
  );

  it(
    'mend pieces that rot, and those that the disk does not give any more',
    { tags: ['S1.peers.repair'] },
    async () => {
      const { ledger, cast, start } = await networkUnderTest(undo, 3, {
        ...quick,
        scrubPace: { pauseMs: 1, eachMs: 200 },
      });
      const nodes = await Promise.all(cast.map((one) => start(one)));
      const [uploader, holder] = nodes;
      const file = bytesOf('r', 3_300_000);
      const actionId = await pendingAction(ledger, file);
      await upload(uploader?.grpc ?? '', actionId, file);
      const [rotten = '', unreadable = ''] = piecesOf(file);
      const fileOf = (hash: string): string => path.join(holder?.storageFolder ?? '', 'pieces', hash.slice(0, 2), hash);
      await writeFile(fileOf(rotten), 'other bytes');
      await rm(fileOf(unreadable));
      await mkdir(fileOf(unreadable));
      await until('both are whole again', async () => {
        const read = await Promise.all(
          [rotten, unreadable].map((hash) => readFile(fileOf(hash)).catch(() => undefined)),
        );
        return read.every((bytes, index) => bytes && hashPiece(bytes) === [rotten, unreadable][index]);
      });
    },
  );

  it('repair the other files where a piece of one cannot be read', { tags: ['S1.peers.repair'] }, async () => {
    const { ledger, cast, start } = await networkUnderTest(undo, 2, quick);
    const [one, two] = cast;
    if (!one || !two) throw new Error('the cast has two');
    const [first, lost] = [await start(one), await start(two)];
    const files = [bytesOf('x', 1_200_000), bytesOf('y', 1_200_000)];
    for (const file of files) await upload(first.grpc, await pendingAction(ledger, file), file);
    await lost.stop();
    const [unreadable = '', ...others] = files.flatMap(piecesOf);
    const broken = path.join(first.storageFolder, 'pieces', unreadable.slice(0, 2), unreadable);
    await rm(broken);
    await mkdir(broken);
    const second = await start(two);
    await until('the other pieces are there', async () => {
      const held = await piecesIn(second.storageFolder);
      return others.every((hash) => held.includes(hash));
    });
  });

  it('ban one that gives wrong bytes, show so, and go on without it', { tags: ['S1.peers.wrong'] }, async () => {
    const { ledger, cast, start, impersonate } = await networkUnderTest(undo, 5);
    const file = bytesOf('w', 8_000_000);
    const actionId = await pendingAction(ledger, file);
    const [nearest] = await groupOf(ledger, actionId);
    const liar = cast.find(({ account }) => account.account === nearest);
    if (!liar) throw new Error('one of the cast is nearest');
    const honest = cast.filter((one) => one !== liar);
    await impersonate(liar, async () => ({ done: true, data: Buffer.from('other bytes') }));
    const [first, ...rest] = await Promise.all(honest.map((one) => start(one)));
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
    'take a manifest again from one that had no answer, where another node told a false one first',
    { tags: ['S1.peers.wrong'] },
    async () => {
      const { ledger, cast, start, impersonate } = await networkUnderTest(undo, 3);
      const [liar, honest, fooled] = cast;
      if (!liar || !honest || !fooled) throw new Error('the cast has three');
      await start(fooled);
      const file = bytesOf('a', 2_200_000);
      const truth = manifestOf(await pendingAction(ledger, file), file);
      const telling = async (teller: RealNode) => {
        const host = await impersonate(teller, async () => ({ done: false }));
        return async (manifest: typeof truth) =>
          (await host.ask(peerOf(fooled), { case: 'putManifest', value: encodeManifest(manifest) })).done;
      };
      const [lie, told] = [await telling(liar), await telling(honest)];
      expect(await lie({ ...truth, pieces: truth.pieces.toReversed() })).toBe(true);
      expect(await told(truth)).toBe(true);
      expect(await told(truth)).toBe(true);
      expect(await told({ ...truth, size: file.length - 1 })).toBe(false);
    },
  );

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
      const truth = manifestOf(actionId, file);
      const lies = [
        { ...truth, pieces: truth.pieces.toReversed() },
        { ...truth, size: file.length - 1 },
      ];
      const told = async (manifest: typeof truth) =>
        (await host.ask(peerOf(fooled), { case: 'putManifest', value: encodeManifest(manifest) })).done;
      expect(await told(lies[0] ?? truth)).toBe(true);
      await upload(first.grpc, actionId, file);
      // It answers the last piece before it has judged whose manifest is the true one.
      await eventually(async () => {
        const answer = await host.ask(peerOf(fooled), { case: 'getManifest', value: actionId });
        expect(decodeManifest(answer.data)).toEqual(truth);
      });
      for (const lie of lies) expect(await told(lie)).toBe(false);
      await first.stop();
      expect((await downloaded(second.grpc, actionId)).bytes.equals(file)).toBe(true);
    },
  );
});
