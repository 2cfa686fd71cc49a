import { listSuperNodes } from '../../projections/fleet.ts';
import { ranksAt } from './rank.ts';
import type { Look } from './reads.ts';

/** Ranks at the height of the last completed SuperNode round, by operator address; those that the chain leaves out are missing. */
export type Ranks = (look: Look) => Promise<ReadonlyMap<string, number>>;

/** More than any chain lists. */
const allNodes = 1_000_000;

/** Ranks that are computed once per round and state of the list, whoever asks. */
export function createRanks(): Ranks {
  let known: { of: string; ranks: ReadonlyMap<string, number> } | undefined;
  return async ({ reading, rounds }) => {
    const height = rounds.find(({ source }) => source === 'supernodes')?.completed_height ?? null;
    if (height === null) return new Map();
    const of = JSON.stringify([height, reading.schemas.supernodes, reading.followed.supernodes]);
    if (known?.of !== of) {
      const { rows } = await listSuperNodes(reading, { limit: allNodes });
      const nodes = rows.map(({ id, state, registered_height }) => ({
        operator: id,
        state,
        registeredHeight: registered_height,
      }));
      known = { of, ranks: ranksAt(height, nodes) };
    }
    return known.ranks;
  };
}
