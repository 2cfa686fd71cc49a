import { NodesToRank } from '../../../projections/fleet/queries.ts';
import { createHashCache, ranksAt } from './rank.ts';
import type { ReadSnapshot } from './reads.ts';

/**
 * Ranks at the height of the last completed SuperNode round, by operator address; those that the chain leaves out are
 * missing.
 */
export type Ranks = (snapshot: ReadSnapshot) => Promise<ReadonlyMap<string, number>>;

type Known = Readonly<{ of: string; ranks: ReturnType<Ranks> }>;

/** Ranks that are computed once per round and state of the list, however many requests need them at once. */
export function createRanks(): Ranks {
  const hashes = createHashCache();
  let known: Known | undefined;
  const ranked = async ({ ask }: ReadSnapshot, height: number): ReturnType<Ranks> => {
    const nodes = await ask(new NodesToRank({}));
    const ranks = ranksAt(height, nodes, hashes.hashOf);
    hashes.letGoOfOthers();
    return ranks;
  };
  return async (snapshot) => {
    const { reading, rounds } = snapshot;
    const height = rounds.find(({ source }) => source === 'supernodes')?.completed_height ?? null;
    if (height === null) return new Map();
    const { schemas, followed, at } = reading;
    const of = JSON.stringify([height, schemas.supernodes, at?.positions['NODES'] ?? followed.supernodes]);
    const match = known?.of === of ? known : { of, ranks: ranked(snapshot, height) };
    known = match;
    try {
      return await match.ranks;
    } catch (caught) {
      if (known === match) known = undefined;
      throw caught;
    }
  };
}
