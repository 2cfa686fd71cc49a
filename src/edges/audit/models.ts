import type { StreamName } from '../../events/streams.ts';
import { type AnyProjection, projections } from '../../projections/all.ts';
import { readUpTo } from '../models/build/load.ts';
import { rebuild } from '../models/build/rebuild.ts';
import { createVerification, type VerifyOptions } from '../models/build/verify.ts';
import { StopError } from '../models/database-error.ts';
import { foldingOf, storedTables } from '../models/engine/folding.ts';
import { liveGeneration, metaSchema } from '../models/engine/generations.ts';
import type { Source } from '../models/engine/source.ts';
import { type Pools, withClient } from '../models/pool.ts';
import type { BothStores } from './archive.ts';

/** What read models are made from and lie in. */
type Models = Readonly<{ pools: Pools; network: string; source: Source }>;

/** Lets projections of a stream go on that had stopped because it was not what they followed. */
export async function resumeModels({ pools, network }: Models, stream: StreamName): Promise<void> {
  await withClient(pools.write, (client) =>
    client.query(
      `update ${metaSchema(network)}.generations set epoch = epoch + 1, stopped_at = null, stopped_reason = null
        where stream = $1 and status = 'live' and stopped_at is not null`,
      [stream],
    ),
  );
}

/** Makes the read models of a stream anew, beside those that readers see until then. */
export async function rebuildModels(models: Models, stream: StreamName, signal: AbortSignal): Promise<string[]> {
  const done: string[] = [];
  for (const projection of projections.filter((one) => one.stream === stream)) {
    const { generation, facts } = await rebuild({ ...models, projection, signal });
    done.push(`Read model ${projection.name} was rebuilt from ${facts} facts; generation ${generation} is live.`);
  }
  return done;
}

/**
 * In a sentence, where a read model was not made anew any more after its stream had been restored with another
 * incarnation; else undefined.
 */
export async function leftBehind(
  { pools, network, source, store }: Models & BothStores,
  { name, stream }: AnyProjection,
): Promise<string | undefined> {
  const [live, head, archived] = await Promise.all([
    withClient(pools.write, (client) => liveGeneration(client, { network, projection: name })),
    source.head(stream),
    store.head(stream),
  ]);
  const followsAnother = live !== undefined && live.incarnation !== head.incarnation;
  return followsAnother && archived?.incarnation === head.incarnation
    ? `${name} follows ${stream} as it was before it was restored.`
    : undefined;
}

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
