import type { CascadeAction, CascadeChain } from '../../chain/files/chain.ts';
import { mostBytesOf } from '../../chain/files/file-bounds.ts';
import { decodeManifest, encodeManifest, type Manifest } from '../storage/manifest.ts';
import { hashPiece, isPieceHash, pieceBytes } from '../storage/piece-hash.ts';
import type { Storage } from '../storage/storage.ts';
import type { Acceptance } from './acceptance.ts';
import type { Bans } from './bans.ts';
import type { Directory, Peer } from './directory.ts';
import type { Answering } from './host.ts';
import type { Placement } from './placement.ts';

/** The sources of a node's answers, and the parts that decide about what peers send. */
export type AnswerSources = Readonly<{
  storage: Storage;
  directory: Directory;
  chain: CascadeChain;
  bans: Bans;
  acceptance: Acceptance;
  placement: Pick<Placement, 'groupOf' | 'mayHold'>;
  onLie: (by: Peer) => void;
}>;

/**
 * Answers peers from a node's store. It answers only nodes of the chain's list that are not banned, and only ACTIVE
 * ones may send it files.
 */
export function answerFrom(sources: AnswerSources): Answering {
  const { storage, directory, chain, bans } = sources;
  const { pieces } = storage;
  return async (request, account) => {
    if (bans.isBanned(account)) return { done: false };
    const peer = (await directory.nodes()).find((node) => node.account === account);
    if (!peer) return { done: false };
    switch (request.case) {
      case 'putPiece':
        return { done: peer.isActive && (await putPiece(sources, request.value)) };
      case 'getPiece': {
        const data = isPieceHash(request.value) ? await pieces.get(request.value) : undefined;
        return data ? { done: true, data } : { done: false };
      }
      case 'missing': {
        const names = request.value.names.filter(isPieceHash);
        const has = await Promise.all(names.map((name) => pieces.has(name)));
        return { done: true, names: names.filter((_, index) => has[index] !== true) };
      }
      case 'putManifest':
        return { done: peer.isActive && (await putManifest(sources, request.value, peer)) };
      case 'getManifest': {
        const manifest = await chain.action(request.value).then((action) => action && storage.manifest(action.id));
        return manifest ? { done: true, data: encodeManifest(manifest) } : { done: false };
      }
      case undefined:
        return { done: false };
    }
  };
}

/** Takes a piece that a file here names; others belong to nothing. */
async function putPiece({ storage, acceptance }: AnswerSources, bytes: Uint8Array): Promise<boolean> {
  if (bytes.length > pieceBytes) return false;
  const hash = hashPiece(bytes);
  await storage.loaded;
  if (!acceptance.wants(hash)) return false;
  await storage.pieces.put(bytes, hash);
  acceptance.arrived(hash);
  return true;
}

/**
 * Accepts the manifest of a file that this node may hold, of at most its record's size: of a finalized action from any
 * node, of a pending one from those that may finalize it.
 */
async function putManifest(sources: AnswerSources, bytes: Uint8Array, by: Peer): Promise<boolean> {
  const { storage, chain, acceptance, placement, onLie } = sources;
  const manifest = decodeManifest(bytes);
  const action = manifest && (await chain.action(manifest.actionId));
  if (!manifest || !action) return false;
  if (!isOf(manifest, action)) {
    onLie(by);
    return false;
  }
  const { chainState } = action.record;
  const isFinalized = chainState === 'done' || chainState === 'approved';
  if (!isFinalized && chainState !== 'pending') return false;
  if (!isFinalized && !(await placement.groupOf(action.id)).includes(by.account)) return false;
  if (!(await placement.mayHold(action.id))) return false;
  await storage.loaded;
  return await acceptance.manifest(manifest, by);
}

/** Returns whether a manifest has the data hash of its action and a size that the action's record allows. */
function isOf({ dataHash, size }: Manifest, { file, record }: CascadeAction): boolean {
  return file?.dataHash === dataHash && size <= mostBytesOf(record);
}
