import { projectionNames } from '../projection.ts';
import { answered, Query } from '../query.ts';
import type { Reading } from '../reading.ts';
import type { RoundRow } from '../tables.ts';
import { rounds } from './rounds.ts';

/** Every source of sync with how far it has come; `onceAllIsBuilt` fails while there is a read model that is not built yet. */
export class SyncRounds extends Query<Readonly<{ onceAllIsBuilt?: boolean }>, RoundRow[]> {}

/** The id of the chain that is followed; null before the first contact. */
export class FollowedChain extends Query<Readonly<Record<string, never>>, string | null> {}

/** What answers each query of rounds. */
export const roundQueries = [answered(SyncRounds, syncRounds), answered(FollowedChain, followedChain)];

async function syncRounds(reading: Reading, { onceAllIsBuilt = false }: { onceAllIsBuilt?: boolean }) {
  if (onceAllIsBuilt) projectionNames.forEach((name) => reading.schemas[name]);
  return await rounds(reading);
}

async function followedChain({ db, schemas }: Reading): Promise<string | null> {
  const chain = await db
    .withSchema(schemas.rounds)
    .selectFrom('rounds')
    .select('chain_id')
    .where('source', '=', 'chain')
    .executeTakeFirst();
  return chain?.chain_id ?? null;
}
