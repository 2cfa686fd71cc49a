import type { CascadeChain } from '../../cascade/chain.ts';
import { decodeManifest, encodeManifest } from '../storage/manifest.ts';
import { hashPiece, isPieceHash, pieceBytes } from '../storage/piece-hash.ts';
import type { Storage } from '../storage/storage.ts';
import type { Accept } from './acceptance.ts';
import type { Bans } from './bans.ts';
import type { Directory } from './directory.ts';
import type { Answering } from './host.ts';

/** What a node answers from, and who decides about manifests that come. */
export type AnswerSources = Readonly<{
  storage: Storage;
  directory: Directory;
  chain: CascadeChain;
  bans: Bans;
  accept: Accept;
}>;

/** What a node answers its peers from its store. Only nodes of the chain's list are answered, and no banned ones. */
export function answerFrom({ storage, directory, chain, bans, accept }: AnswerSources): Answering {
  const { pieces } = storage;
  return async (ask, account) => {
    if (bans.isBanned(account)) return { done: false };
    if (!(await directory.nodes()).some((node) => node.account === account)) return { done: false };
    switch (ask.case) {
      case 'putPiece':
        if (ask.value.length > pieceBytes) return { done: false };
        return { done: (await pieces.put(ask.value)) === hashPiece(ask.value) };
      case 'getPiece': {
        const data = isPieceHash(ask.value) ? await pieces.get(ask.value) : undefined;
        return data ? { done: true, data } : { done: false };
      }
      case 'missing': {
        const names = ask.value.names.filter(isPieceHash);
        const has = await Promise.all(names.map((name) => pieces.has(name)));
        return { done: true, names: names.filter((_, index) => has[index] !== true) };
      }
      case 'putManifest': {
        const manifest = decodeManifest(ask.value);
        const action = manifest && (await chain.action(manifest.actionId));
        if (!manifest || action?.file?.dataHash !== manifest.dataHash) return { done: false };
        return { done: await accept(manifest) };
      }
      case 'getManifest': {
        const manifest = await chain.action(ask.value).then((action) => action && storage.manifest(action.id));
        return manifest ? { done: true, data: encodeManifest(manifest) } : { done: false };
      }
      case undefined:
        return { done: false };
    }
  };
}
