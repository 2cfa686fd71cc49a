import { projectionNames } from '../../../projections/projection.ts';
import type { Reading } from '../../../projections/reading.ts';
import { rounds } from '../../../projections/rounds/rounds.ts';
import type { RoundRow } from '../../../projections/tables.ts';

/**
 * All rounds of sync.
 *
 * Fails as long as there is a read model that is not built yet: the routes that need it fail as well then.
 */
export async function roundsOnceAllIsBuilt(reading: Reading): Promise<RoundRow[]> {
  projectionNames.forEach((name) => reading.schemas[name]);
  return await rounds(reading);
}
