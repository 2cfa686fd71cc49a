import pLimit from 'p-limit';
import { isSameManifest, type Manifest } from '../storage/manifest.ts';
import type { Storage } from '../storage/storage.ts';
import type { Copies } from './copies.ts';
import { judge } from './judge.ts';

/** Takes a manifest in that a peer gives; false where another one stays. Its data hash is the chain's already. */
export type Accept = (manifest: Manifest) => Promise<boolean>;

/**
 * The first manifest of a file is taken as it comes. Where a later one differs, both are read through, one file at a
 * time, and the true one stays: a peer that lies first cannot keep a file from its holders.
 */
export function createAcceptance({ storage, copies }: Readonly<{ storage: Storage; copies: Copies }>): Accept {
  const oneAtATime = pLimit(1);
  const proven = new Set<string>();
  const isTrue = async (manifest: Manifest): Promise<boolean> => {
    if (!(await judge(manifest, copies.reader(manifest.actionId))).isTrue) return false;
    proven.add(manifest.actionId);
    return true;
  };
  return async (manifest) => {
    const own = await storage.manifest(manifest.actionId);
    if (own && isSameManifest(own, manifest)) return true;
    if (own && proven.has(own.actionId)) return false;
    if (own)
      return await oneAtATime(async () => {
        if ((await isTrue(own)) || !(await isTrue(manifest))) return false;
        await storage.keep(manifest);
        return true;
      });
    await storage.keep(manifest);
    return true;
  };
}
