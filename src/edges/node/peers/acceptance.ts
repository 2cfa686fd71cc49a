import pLimit from 'p-limit';
import { createInTurn } from '../../../kit/in-turn.ts';
import { isSameManifest, type Manifest } from '../storage/manifest.ts';
import type { PieceHash } from '../storage/piece-hash.ts';
import type { Storage } from '../storage/storage.ts';
import type { Peer } from './directory.ts';
import { judge, type Judgement } from './judge.ts';
import { createOffers, type Offer, type Offers } from './offers.ts';

/** Accepts what peers send to a node. */
export type Acceptance = Readonly<{
  /** Takes a manifest in that may be one of its action; false where another one stays, or its peer offers too much. */
  manifest: (manifest: Manifest, by: Peer) => Promise<boolean>;
  /** Returns whether a file that is stored or offered here names a piece. */
  wants: (hash: PieceHash) => boolean;
  /** Has the offers judged that a piece completes; called after it was stored. Whoever sent it waits for nothing. */
  arrived: (hash: PieceHash) => void;
  /** Returns whether the stored manifest of an action may be sent to others; one from a peer is verified before. */
  isTrue: (actionId: string) => Promise<boolean>;
}>;

/**
 * Where accepted files go, how many bytes of unfinished files one peer may offer, and the function that is called for a
 * peer's lie.
 */
export type AcceptanceOptions = Readonly<{
  storage: Pick<Storage, 'index' | 'pieces' | 'keep' | 'forget'>;
  mostOffered: number;
  onLie: (by: Peer) => void;
}>;

const judgedAtOnce = 2;
/** A disk that gives less in a second is as good as gone. */
const leastBytesASecond = 2 ** 20;
const judgedWithinMs = 20_000;

/**
 * The first manifest of a file is stored as it comes, others beside it, one of each peer. As soon as the pieces of one
 * are all here it is verified from the disk, and never from peers: a true one stays, a false one goes, and a peer that
 * offered another has lied. So no peer can withhold a file from its holders, or make them wait for another peer.
 */
export function createAcceptance({ storage, mostOffered, onLie }: AcceptanceOptions): Acceptance {
  const { index } = storage;
  const inTurn = createInTurn();
  const offers = createOffers(index);
  const { proven, isHere, settle } = createSettling({ storage, offers, onLie });
  /** A file takes as long to read as it is large, and whoever sent it waits for an answer. */
  const judgeSoon = (actionId: string): void => {
    // What cannot be read now is judged before it is passed on.
    void inTurn(actionId, async () => offers.has(actionId) && (await settle(actionId))).catch(() => false);
  };
  const accept = async (manifest: Manifest, by: Peer): Promise<boolean> => {
    const { actionId } = manifest;
    const retained = index.file(actionId);
    // What was proven is gone with the file: the next manifest may be anybody's.
    if (!retained) proven.delete(actionId);
    if (retained && isSameManifest(retained, manifest)) return true;
    if (retained && (proven.has(actionId) || (await settle(actionId)))) {
      const isTrue = isSameManifest(index.file(actionId) ?? retained, manifest);
      if (!isTrue) onLie(by);
      return isTrue;
    }
    for (const lapsed of offers.lapsed()) await storage.forget(lapsed);
    const others = offers.of(by);
    const before = others.find((one) => one.actionId === actionId);
    // Whoever had no answer in time sends the same one again.
    if (before) return isSameManifest(before, manifest);
    const bytes = others.reduce((sum, { size }) => sum + size, manifest.size);
    if (others.length > 0 && bytes > mostOffered) return false;
    if (!index.file(actionId)) await storage.keep(manifest);
    offers.add({ manifest, by, atMs: performance.now() });
    if (isHere(manifest)) judgeSoon(actionId);
    return true;
  };
  return {
    manifest: async (manifest, by) => await inTurn(manifest.actionId, () => accept(manifest, by)),
    wants: (hash) => index.filesOf(hash).length > 0 || offers.naming(hash).length > 0,
    arrived: (hash) => {
      for (const actionId of offers.naming(hash))
        if (offers.all(actionId).some(({ manifest }) => isHere(manifest))) judgeSoon(actionId);
    },
    isTrue: async (actionId) => await inTurn(actionId, async () => !offers.has(actionId) || (await settle(actionId))),
  };
}

type Settling = Readonly<{
  /** Actions whose stored manifest is the true one. */
  proven: Set<string>;
  /** Returns whether all pieces of a manifest are here. */
  isHere: (manifest: Manifest) => boolean;
  /** Judges what is complete; true once it is known which manifest of an action is the true one. */
  settle: (actionId: string) => Promise<boolean>;
}>;

function createSettling({
  storage,
  offers,
  onLie,
}: Omit<AcceptanceOptions, 'mostOffered'> & Readonly<{ offers: Offers }>): Settling {
  const { index } = storage;
  const proven = new Set<string>();
  const isHere = (manifest: Manifest): boolean => manifest.pieces.every((hash) => index.isHere(hash));
  const read = readsHere(storage);
  /** Stores the true one; every other one was a lie. */
  const prove = async (manifest: Manifest): Promise<void> => {
    const kept = index.file(manifest.actionId);
    if (!kept || !isSameManifest(kept, manifest)) await storage.keep(manifest);
    proven.add(manifest.actionId);
    for (const { manifest: other, by } of offers.take(manifest.actionId))
      if (by && !isSameManifest(other, manifest)) onLie(by);
  };
  const settle = async (actionId: string): Promise<boolean> => {
    for (const offer of offers.all(actionId).filter(({ manifest }) => isHere(manifest))) {
      const { isTrue, isFalse } = await read(offer.manifest);
      if (isTrue) await prove(offer.manifest);
      if (isTrue) return true;
      if (isFalse) await disprove(offer);
    }
    return false;
  };
  const disprove = async ({ manifest, by }: Offer): Promise<void> => {
    const { actionId } = manifest;
    const rest = offers.take(actionId).filter((offer) => !isSameManifest(offer.manifest, manifest));
    const [next] = rest;
    const kept = index.file(actionId);
    if (kept && isSameManifest(kept, manifest)) await (next ? storage.keep(next.manifest) : storage.forget(actionId));
    for (const offer of rest) offers.add(offer);
    if (by) onLie(by);
  };
  return { proven, isHere, settle };
}

/**
 * Judges manifests by what the disk has, two at once.
 *
 * Where the bytes on the disk hash to the file, each piece is right as well, so that its own hash proves nothing more;
 * only where they do not, it shows whether the disk or the manifest is wrong.
 */
function readsHere({ pieces }: Pick<Storage, 'pieces'>): (manifest: Manifest) => Promise<Judgement> {
  const limit = pLimit(judgedAtOnce);
  const from = (read: Storage['pieces']['get']) => async (hash: PieceHash) => {
    const bytes = await read(hash).catch(() => undefined);
    return bytes && ({ bytes, from: 'here' } as const);
  };
  const judgeFrom = async (manifest: Manifest, read: Storage['pieces']['get']): Promise<Judgement> => {
    const withinMs = judgedWithinMs + Math.ceil((manifest.size * 1000) / leastBytesASecond);
    return await judge(manifest, from(read), AbortSignal.timeout(withinMs));
  };
  return async (manifest) =>
    await limit(async () => {
      const judgement = await judgeFrom(manifest, pieces.read);
      return judgement.isTrue ? judgement : await judgeFrom(manifest, pieces.get);
    });
}
