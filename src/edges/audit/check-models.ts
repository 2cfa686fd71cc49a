import type { AnyProjection } from '../../projections/all.ts';
import { StopError } from '../models/database-error.ts';
import { foldingOf } from '../models/engine/folding.ts';
import { liveGeneration } from '../models/engine/generations.ts';
import { readUpTo } from '../models/build/load.ts';
import { withClient } from '../models/pool.ts';
import { storedTables } from '../models/engine/stored-tables.ts';
import { createVerification, type VerifyOptions } from '../models/build/verify.ts';
import type { Models } from './models.ts';

const everything = { count: () => 0 };

/**
 * Compares the tables that readers see with a fold of the log up to where they stand, in one snapshot of the database.
 *
 * Gives back what differs, in a sentence; undefined where nothing does, or where there is nothing to compare.
 */
export async function checkModel(
  { pools, network, source }: Models,
  projection: AnyProjection,
  signal: AbortSignal,
): Promise<string | undefined> {
  const folding = foldingOf(projection);
  const { stream, name } = projection;
  return withClient(pools.bulk, async (client) => {
    await client.query('begin isolation level repeatable read read only');
    try {
      // The log is read meanwhile, which may take longer than an idle connection is left alone.
      await client.query('set local idle_in_transaction_session_timeout = 0');
      const live = await liveGeneration(client, { network, projection: name });
      const head = await source.head(stream);
      const isComparable = live?.incarnation === head.incarnation && live.position <= head.lastSequence;
      if (!live || !isComparable || live.version !== folding.version || live.position === 0) return undefined;
      const upTo = { ...head, lastSequence: live.position };
      const reading = { source, stream, signal, head: upTo, ...everything };
      const isOurs = ({ sequence }: { sequence: number }): boolean => sequence <= live.position;
      const again: VerifyOptions['again'] = async (take) => {
        await readUpTo(reading, async (facts) => take(facts.filter(isOurs)));
      };
      const { schema, generation } = live;
      const verification = createVerification({ folding, schema, generation, again });
      await again(verification.take);
      for (const table of storedTables(folding)) await verification.addStored(client, table);
      await verification.addFolded();
      await verification.compare(client);
      return undefined;
    } catch (caught) {
      if (caught instanceof StopError) return caught.message;
      throw caught;
    } finally {
      await client.query('rollback').catch(() => undefined);
    }
  });
}
