import { isSameManifest, type Manifest } from '../storage/manifest.ts';
import type { PieceHash } from '../storage/piece-hash.ts';
import type { StorageIndex } from '../storage/storage-index.ts';
import type { Peer } from './directory.ts';

/** A manifest that is not verified yet, and the peer that sent it; undefined where it was stored before. */
export type Offer = Readonly<{ manifest: Manifest; by?: Peer; atMs: number }>;

/** Manifests of peers whose pieces are not all here, in memory. */
export type Offers = Readonly<{
  add: (offer: Offer) => void;
  /** Returns whether a peer sent a manifest of an action that is not settled. */
  has: (actionId: string) => boolean;
  /** All of an action, the stored one first. */
  all: (actionId: string) => readonly Offer[];
  /** The same, and forgets them. */
  take: (actionId: string) => readonly Offer[];
  /** Manifests that a peer sent and that are not settled. */
  of: (by: Peer) => readonly Manifest[];
  /** Actions of offers that name a piece. */
  naming: (hash: PieceHash) => readonly string[];
  /** Deletes offers that are an hour old; returns the files that are stored though none of their pieces came. */
  lapsed: () => readonly string[];
}>;

type Named = Offer & Readonly<{ names: ReadonlySet<PieceHash> }>;

const lastsMs = 3_600_000;

/** No offers at first. */
export function createOffers(index: Pick<StorageIndex, 'file' | 'lacking'>): Offers {
  const offers = new Map<string, Named[]>();
  const all: Offers['all'] = (actionId) => {
    const retained = index.file(actionId);
    const input = offers.get(actionId) ?? [];
    const first = retained && input.find(({ manifest }) => isSameManifest(manifest, retained));
    const own = first ?? (retained && { manifest: retained, atMs: performance.now() });
    return [...(own ? [own] : []), ...input.filter((one) => one !== first)];
  };
  const isUnfinished = ({ manifest }: Offer): boolean => {
    const kept = index.file(manifest.actionId);
    return !kept || !isSameManifest(kept, manifest) || index.lacking(manifest.actionId).length > 0;
  };
  return {
    all,
    has: (actionId) => (offers.get(actionId) ?? []).length > 0,
    add: (offer) => {
      if (!offer.by) return;
      const options = offers.get(offer.manifest.actionId) ?? [];
      offers.set(offer.manifest.actionId, [...options, { ...offer, names: new Set(offer.manifest.pieces) }]);
    },
    take: (actionId) => {
      const offered = all(actionId);
      offers.delete(actionId);
      return offered;
    },
    of: (by) =>
      [...offers.values()]
        .flat()
        .filter((offer) => offer.by?.account === by.account && isUnfinished(offer))
        .map(({ manifest }) => manifest),
    naming: (hash) => [...offers].filter(([, given]) => given.some(({ names }) => names.has(hash))).map(([id]) => id),
    lapsed: () => {
      const empty: string[] = [];
      for (const [actionId, given] of offers) {
        const fresh = given.filter(({ atMs }) => performance.now() - atMs < lastsMs);
        if (fresh.length === given.length) continue;
        const kept = index.file(actionId);
        if (fresh.length > 0) offers.set(actionId, fresh);
        else offers.delete(actionId);
        const isEmpty = kept && kept.pieces.length > 0 && index.lacking(actionId).length === new Set(kept.pieces).size;
        if (isEmpty && !fresh.some(({ manifest }) => isSameManifest(manifest, kept))) empty.push(actionId);
      }
      return empty;
    },
  };
}
