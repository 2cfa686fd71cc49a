import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { CascadeService, SupernodeEventType } from '../../../../src/edges/gen/cascade/service_pb.ts';
import type { RealNode } from '../../../../src/edges/local-network/cast.ts';
import { encodeManifest } from '../../../../src/edges/node/storage/manifest.ts';
import { pieceBytes } from '../../../../src/edges/node/storage/piece-hash.ts';
import { until } from '../../../support/polling.ts';
import { bytesOf, manifestOf, pendingAction, piecesOf, upload } from '../files-under-test.ts';
import { loseAllPieces, networkUnderTest, type StoringNode } from '../network-under-test.ts';

let undo: AsyncDisposableStack;
let node: StoringNode;
let actionId: string;
/** The pieces that the other node was asked for, in order; it answers once `answers` resolves. */
let asked: string[];
let answers: PromiseWithResolvers<void>;
const file = bytesOf('s', 3_000_000);
const names = piecesOf(file);

/** A node that has lost the pieces of a file, and the other one of its network, which has them. */
beforeEach(async () => {
  undo = new AsyncDisposableStack();
  [asked, answers] = [[], Promise.withResolvers()];
  const world = await networkUnderTest(undo, 2);
  const [own, other] = world.cast as [RealNode, RealNode];
  await world.impersonate(other, async (query) => {
    if (query.case === 'getManifest') return { done: true, data: encodeManifest(manifestOf(actionId, file)) };
    if (query.case !== 'getPiece') return { done: true };
    asked.push(query.value);
    await answers.promise;
    const at = names.indexOf(query.value) * pieceBytes;
    return { done: true, data: file.subarray(at, at + pieceBytes) };
  });
  node = await world.start(own, undefined, { repairEachMs: 600_000 });
  actionId = await pendingAction(world.ledger, file);
  await upload(node.grpc, actionId, file);
  await loseAllPieces(node.storageFolder);
});
afterEach(async () => await undo.disposeAsync());

/** A download that has begun to look for the pieces; `bytes` are those of the file, once all have come. */
async function download() {
  const client = createClient(CascadeService, createGrpcTransport({ baseUrl: `http://${node.grpc}` }));
  const leave = new AbortController();
  const begun = Promise.withResolvers<void>();
  const read = async (): Promise<Buffer> => {
    const parts: Uint8Array[] = [];
    for await (const { responseType } of client.download({ actionId }, { signal: leave.signal })) {
      if (responseType.case === 'chunk') parts.push(responseType.value.data);
      else if (responseType.value?.eventType === SupernodeEventType.NETWORK_RETRIEVE_STARTED) begun.resolve();
    }
    return Buffer.concat(parts);
  };
  const bytes = read();
  bytes.catch(begun.reject);
  await begun.promise;
  return { bytes, leave: () => leave.abort() };
}

it('who requests a file at the same time shares its pieces', { tags: ['S1.hostile.calls'] }, async () => {
  const downloads = await Promise.all(Array.from({ length: 8 }, download));
  await until('a piece is asked for', () => asked.length > 0);
  answers.resolve();
  for (const { bytes } of downloads) expect((await bytes).equals(file)).toBe(true);
  expect(asked).toEqual(names);
});

it('whoever leaves takes it from nobody', { tags: ['S1.hostile.calls'] }, async () => {
  const [first, second] = [await download(), await download()];
  await until('a piece is asked for', () => asked.length > 0);
  first.leave();
  await expect(first.bytes).rejects.toThrow('aborted');
  answers.resolve();
  expect((await second.bytes).equals(file)).toBe(true);
  expect(asked).toEqual(names);
});
