import type pg from 'pg';
import type { StreamName } from '../../events/streams.ts';
import { type AnyProjection, projections } from '../../projections/all.ts';
import { readUpTo } from '../models/build/load.ts';
import { rebuild } from '../models/build/rebuild.ts';
import { createVerification, type VerifyOptions } from '../models/build/verify.ts';
import { StopError } from '../models/database-error.ts';
import { type Folding, foldingOf, storedTables } from '../models/engine/folding.ts';
import { type Generation, liveGeneration, metaSchema } from '../models/engine/generations.ts';
import type { SourceHead, FactSource } from '../models/engine/source.ts';
import { type Pools, withClient } from '../models/pool.ts';
import type { BothStores } from './archive.ts';

/** What read models are made from and lie in. */
type Models = Readonly<{ pools: Pools; network: string; source: FactSource }>;

/**
 * Resumes projections of a stream that had stopped because it was not the one they followed.
 *
 * The database refuses every current leader from now on, also one that read the partly restored stream and has yet to
 * record its stop; the next leader reads the stream as it is now.
 */
export async function resumeModels({ pools, network }: Models, stream: StreamName): Promise<void> {
  await withClient(pools.write, (client) =>
    client.query(
      `update ${metaSchema(network)}.generations set epoch = epoch + 1, stopped_at = null, stopped_reason = null
        where stream = $1 and status = 'live'`,
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

/**
 * Compares the tables that readers see with a fold of the log up to their position.
 *
 * A snapshot is open only while a table is added up; the log is read after it. Returns the difference, in a sentence;
 * undefined where nothing does, where there is nothing to compare, or where another generation became live meanwhile.
 */
export async function checkModel(
  models: Models,
  projection: AnyProjection,
  signal: AbortSignal,
): Promise<string | undefined> {
  const folding = foldingOf(projection);
  const head = await models.source.head(projection.stream);
  const live = await comparable(models, { folding, head });
  if (!live) return undefined;
  const again: VerifyOptions['again'] = async (take, position) => {
    const upTo = { ...head, lastSequence: position };
    const reading = { source: models.source, stream: projection.stream, signal, head: upTo, count: () => 0 };
    await readUpTo(reading, async (facts) => take(facts.filter(({ sequence }) => sequence <= position)));
  };
  const { schema, generation } = live;
  const inSnapshot = snapshotsOf(models, live);
  const stored: VerifyOptions['stored'] = async (read) => {
    const { position, value } = await inSnapshot(read);
    return { position, rows: value };
  };
  const verification = createVerification({ folding, schema, generation, stored, again });
  try {
    const { position } = await inSnapshot(async (client) => {
      for (const table of storedTables(folding)) await verification.addStored(client, table);
    });
    await again(verification.take, position);
    await verification.addFolded();
    await verification.compare();
    return undefined;
  } catch (caught) {
    if (caught instanceof Superseded) return undefined;
    if (caught instanceof StopError) return caught.message;
    throw caught;
  } finally {
    verification.close();
  }
}

/** The generation that was to be compared is live no more. */
class Superseded extends Error {}

/** The live generation, where this program's handlers made it of this very log. */
async function comparable(
  { pools, network }: Models,
  { folding, head }: Readonly<{ folding: Folding; head: SourceHead }>,
): Promise<Generation | undefined> {
  const live = await withClient(pools.bulk, (client) => liveGeneration(client, { network, projection: folding.name }));
  const isComparable = live?.incarnation === head.incarnation && live.position <= head.lastSequence;
  return live && isComparable && live.version === folding.version && live.position > 0 ? live : undefined;
}

/** Reads tables of a generation in snapshots of the database, each with the position that it shows them at. */
function snapshotsOf({ pools, network }: Models, { projection, generation, incarnation }: Generation) {
  return <T>(read: (client: pg.PoolClient) => Promise<T>): Promise<Readonly<{ position: number; value: T }>> =>
    withClient(pools.bulk, async (client) => {
      await client.query('begin isolation level repeatable read read only');
      try {
        const live = await liveGeneration(client, { network, projection });
        if (live?.generation !== generation || live.incarnation !== incarnation) throw new Superseded();
        return { position: live.position, value: await read(client) };
      } finally {
        await client.query('rollback').catch(() => undefined);
      }
    });
}
