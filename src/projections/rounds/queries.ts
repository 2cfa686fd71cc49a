import { answered, Query } from '../query.ts';
import type { Reading } from '../reading.ts';
import type { RoundRow } from '../tables.ts';
import { rounds } from './rounds.ts';

/** Every source of sync with how far it has come. */
export class SyncRounds extends Query<Readonly<Record<string, never>>, RoundRow[]> {}

/** The id of the chain that is followed; null before the first contact. */
export class FollowedChain extends Query<Readonly<Record<string, never>>, string | null> {}

/** What answers each query of rounds. */
export const roundQueries = [answered(SyncRounds, rounds), answered(FollowedChain, followedChain)];

async function followedChain({ db, schemas }: Reading): Promise<string | null> {
  const chain = await db
    .withSchema(schemas.rounds)
    .selectFrom('rounds')
    .select('chain_id')
    .where('source', '=', 'chain')
    .executeTakeFirst();
  return chain?.chain_id ?? null;
}
