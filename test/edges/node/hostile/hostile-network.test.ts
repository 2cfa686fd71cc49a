import { afterEach, expect, it } from 'vitest';
import type { RealNode } from '../../../../src/edges/local-network/cast.ts';
import type { Answering } from '../../../../src/edges/node/peers/host.ts';
import { encodeManifest } from '../../../../src/edges/node/storage/manifest.ts';
import { hashPiece, pieceBytes } from '../../../../src/edges/node/storage/piece-hash.ts';
import { bytesOf, pendingAction, upload } from '../files-under-test.ts';
import { networkUnderTest, piecesIn, ports } from '../network-under-test.ts';
import { drippingUpload, strangersSession } from './strangers.ts';

let undo = new AsyncDisposableStack();
afterEach(async () => {
  await undo.disposeAsync();
  undo = new AsyncDisposableStack();
});

const never = new Promise<never>(() => undefined);

/** Takes everything, keeps nothing, and gives other bytes than it was asked for. */
const rotting: Answering = async () => ({ done: true, data: Buffer.from('other bytes') });
/** Takes a question and never answers it. */
const stalling: Answering = async () => await never;
/** Refuses, and lies to others. */
const lying: Answering = async () => ({ done: false });

function piecesOf(file: Buffer): string[] {
  const starts = Array.from({ length: Math.ceil(file.length / pieceBytes) }, (_, index) => index * pieceBytes);
  return starts.map((at) => hashPiece(file.subarray(at, at + pieceBytes)));
}

it(
  'every upload completes and stays whole on two honest nodes while three of nine and 200 strangers are hostile',
  { tags: ['S1.hostile.network'] },
  async () => {
    const network = await networkUnderTest(undo, 9);
    const [liar, staller, rotter, ...honest] = network.cast as [RealNode, RealNode, RealNode, ...RealNode[]];
    const liarHost = await network.impersonate(liar, lying);
    const stallerHost = await network.impersonate(staller, stalling);
    await network.impersonate(rotter, rotting);
    const storageBytes = 64 * 2 ** 20;
    const nodes = await Promise.all(honest.map((one) => network.start(one, undefined, { storageBytes })));
    const flooded = { case: 'putPiece', value: bytesOf('f', pieceBytes) } as const;
    const sessions = await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        const node = nodes[index % nodes.length];
        if (!node) throw new Error('There are honest nodes');
        const target = { host: node.host, port: ports.grpc };
        return await strangersSession(target, `127.78.${Math.floor(index / 100)}.${1 + (index % 100)}`);
      }),
    );
    undo.defer(() => sessions.forEach((session) => session.destroy()));
    for (const session of sessions.slice(0, 100)) drippingUpload(session, bytesOf('s', 200_000), 500);
    for (const [index, letter] of ['a', 'b', 'c', 'd'].entries()) {
      const file = bytesOf(letter, 2_200_000);
      const actionId = await pendingAction(network.ledger, file);
      const pieces = piecesOf(file);
      const lie = { actionId, dataHash: 'h'.repeat(44), size: file.length, pieces: pieces.toReversed() };
      const attacks = honest.flatMap(({ host: ip, account: { account } }) => {
        const peer = { account, ip, port: ports.p2p, isActive: true };
        const asked = [
          liarHost.ask(peer, { case: 'putManifest', value: encodeManifest(lie) }),
          liarHost.ask(peer, flooded),
          stallerHost.ask(peer, flooded),
        ];
        return asked.map((one) => one.catch(() => undefined));
      });
      const events = await upload(nodes[index]?.grpc ?? '', actionId, file);
      expect(events.at(-1)?.txHash).toMatch(/^[\dA-F]{64}$/i);
      await Promise.all(attacks);
      const held = await Promise.all(nodes.map(async ({ storageFolder }) => await piecesIn(storageFolder)));
      expect(held.filter((names) => pieces.every((hash) => names.includes(hash))).length).toBeGreaterThanOrEqual(2);
      for (const node of nodes) expect((await node.observe()).storedBytes).toBeLessThanOrEqual(storageBytes);
      // The staller goes away in the midst of it all.
      if (index === 1) await stallerHost.close();
    }
  },
);
