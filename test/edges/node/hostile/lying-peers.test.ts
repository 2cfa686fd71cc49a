import { Code } from '@connectrpc/connect';
import { afterEach, describe, expect, it } from 'vitest';
import type { RealNode } from '../../../../src/edges/local-network/cast.ts';
import { type PeerRequest, openPeerHost, type PeerHost } from '../../../../src/edges/node/peers/host.ts';
import { createDiagnostics } from '../../../../src/edges/node/status/diagnostics.ts';
import { encodeManifest, type Manifest } from '../../../../src/edges/node/storage/manifest.ts';
import { hashPiece, pieceBytes } from '../../../../src/edges/node/storage/piece-hash.ts';
import { silent } from '../../ledger/ledger-under-test.ts';
import { bytesOf, creator, downloaded, manifestOf, pendingAction, signatureOf, upload } from '../files-under-test.ts';
import { type NetworkUnderTest, networkUnderTest, patient, peerOf, piecesIn } from '../network-under-test.ts';

let undo = new AsyncDisposableStack();
afterEach(async () => {
  await undo.disposeAsync();
  undo = new AsyncDisposableStack();
});

const refusing = async () => ({ done: false });

/** A network whose first node lies, as the test has it ask; the others run. */
async function networkWithLiar(count: number) {
  const network = await networkUnderTest(undo, count, patient);
  const [liar, ...honest] = network.cast as [RealNode, ...RealNode[]];
  const host = await network.impersonate(liar, refusing);
  const nodes = await Promise.all(honest.map((one) => network.start(one)));
  return { ...network, nodes, ask: asking(host, honest), liar };
}

/** Asks the node of so many in a list whether something is done. */
function asking(host: PeerHost, nodes: readonly RealNode[]) {
  return async (ask: PeerRequest, at = 0): Promise<boolean> => {
    const node = nodes[at] ?? expect.fail(`there is no node ${at}`);
    return (await host.ask(peerOf(node), ask)).done;
  };
}

const put = (manifest: Manifest) => ({ case: 'putManifest', value: encodeManifest(manifest) }) as const;
const wrongHash = Buffer.alloc(32).toString('base64');

async function pending(ledger: NetworkUnderTest['ledger'], letter: string, size = 2_200_000) {
  const file = bytesOf(letter, size);
  const actionId = await pendingAction(ledger, file);
  return { file, actionId, truth: manifestOf(actionId, file) };
}

describe('a peer that lies', () => {
  it('about a file that is being registered stops no upload', { tags: ['S1.peers.wrong'] }, async () => {
    const { ledger, nodes, ask } = await networkWithLiar(4);
    const { file, actionId, truth } = await pending(ledger, 'l');
    const same = bytesOf('z', pieceBytes);
    const piece = hashPiece(same);
    const vast = { ...truth, size: 9900 * pieceBytes, pieces: Array.from({ length: 9900 }, () => piece) };
    const lie = { ...truth, pieces: truth.pieces.map(() => piece) };
    for (const at of nodes.keys()) {
      expect(await ask(put(lie), at)).toBe(true);
      expect(await ask({ case: 'putPiece', value: same }, at)).toBe(true);
      expect(await ask(put(vast), at)).toBe(false);
    }
    const events = await upload(nodes[0]?.grpc ?? '', actionId, file);
    expect(events.map(({ message }) => message)).toContain('3 pieces are stored, 3 copies of each');
    for (const { grpc } of nodes) expect((await downloaded(grpc, actionId)).bytes.equals(file)).toBe(true);
    for (const at of nodes.keys()) expect(await ask({ case: 'getManifest', value: actionId }, at)).toBe(false);
  });

  it('is not answered any more, and others are', { tags: ['S1.peers.wrong', 'S1.p2p.bans'] }, async () => {
    const { ledger, nodes, ask } = await networkWithLiar(3);
    const { file, actionId, truth } = await pending(ledger, 'b');
    await upload(nodes[0]?.grpc ?? '', actionId, file);
    const question = { case: 'getManifest', value: actionId } as const;
    expect(await ask(question)).toBe(true);
    for (const _ of [1, 2]) expect(await ask(put({ ...truth, pieces: truth.pieces.toReversed() }))).toBe(false);
    expect(await ask(question)).toBe(false);
    expect(await ask(question, 1)).toBe(true);
  });

  it('about the data hash is not believed', { tags: ['S1.peers.wrong'] }, async () => {
    const { ledger, ask } = await networkWithLiar(2);
    const { actionId, truth } = await pending(ledger, 'h');
    expect(await ask(put({ ...truth, dataHash: wrongHash }))).toBe(false);
    expect(await ask({ case: 'getManifest', value: actionId })).toBe(false);
    expect(await ask(put(truth))).toBe(true);
  });

  it('by pieces of no file has none of them stored', { tags: ['S1.peers.wrong'] }, async () => {
    const { nodes, ask } = await networkWithLiar(2);
    for (let index = 0; index < 8; index += 1)
      expect(await ask({ case: 'putPiece', value: bytesOf(String(index), 100_000) })).toBe(false);
    expect(await piecesIn(nodes[0]?.storageFolder ?? '')).toEqual([]);
  });

  it('by more files than it ever gives pieces of has no more of them taken', { tags: ['S1.peers.wrong'] }, async () => {
    const network = await networkUnderTest(undo, 2, { storageBytes: 32 * pieceBytes });
    const [liar, honest] = network.cast as [RealNode, RealNode];
    const ask = asking(await network.impersonate(liar, refusing), [honest]);
    await network.start(honest);
    const offered: boolean[] = [];
    for (const letter of 'abcd') offered.push(await ask(put((await pending(network.ledger, letter, 1_500_000)).truth)));
    expect(offered).toEqual([true, true, false, false]);
  });
});

describe('an account that is no node of the chain', () => {
  it('gets and gives nothing', { tags: ['S1.peers.wrong'] }, async () => {
    const { ledger, cast, start } = await networkUnderTest(undo, 2);
    const [first, second] = await Promise.all(cast.map((one) => start(one)));
    const file = bytesOf('p', 700_000);
    const actionId = await pendingAction(ledger, file, { isPublic: false });
    await upload(first?.grpc ?? '', actionId, file);
    const place = { host: '127.0.0.1', port: 0, what: 'a test', remedy: '' };
    const options = { key: creator.key, answering: refusing, diagnostics: createDiagnostics(), logger: silent };
    const host = await openPeerHost({ place, ...options });
    undo.defer(host.close);
    // A long question of somebody unknown ends its stream.
    const ask = async (...question: Parameters<ReturnType<typeof asking>>) =>
      await asking(host, cast)(...question).catch(() => false);
    for (const at of [0, 1]) {
      expect(await ask({ case: 'getManifest', value: actionId }, at)).toBe(false);
      expect(await ask({ case: 'getPiece', value: hashPiece(file) }, at)).toBe(false);
      expect(await ask({ case: 'missing', value: { names: [] } }, at)).toBe(false);
      expect(await ask({ case: 'putPiece', value: file }, at)).toBe(false);
      expect(await ask(put(manifestOf(actionId, file)), at)).toBe(false);
    }
    const signature = signatureOf(creator, actionId);
    expect((await downloaded(second?.grpc ?? '', actionId, signature)).bytes.equals(file)).toBe(true);
  });
});

describe('a node among others that take nothing', () => {
  it('finalizes no action', { tags: ['S1.peers.copies'] }, async () => {
    const { ledger, cast, start, impersonate } = await networkUnderTest(undo, 3);
    const [own, ...others] = cast as [RealNode, ...RealNode[]];
    for (const other of others) await impersonate(other, refusing);
    const { grpc } = await start(own);
    const { file, actionId } = await pending(ledger, 'n', 10_000);
    await expect(upload(grpc, actionId, file)).rejects.toMatchObject({ code: Code.Unavailable });
    await expect(downloaded(grpc, actionId)).rejects.toMatchObject({ code: Code.FailedPrecondition });
  });
});
