import type { StreamName } from '../../events/streams.ts';
import { type AnyProjection, projections } from '../../projections/all.ts';
import { liveGeneration } from '../models/engine/generations.ts';
import { metaSchema } from '../models/engine/names.ts';
import { type Pools, withClient } from '../models/pool.ts';
import { rebuild } from '../models/build/rebuild.ts';
import type { Source } from '../models/engine/source.ts';
import type { BothStores } from './archiver.ts';

/** What read models are made from and lie in. */
export type Models = Readonly<{ pools: Pools; network: string; source: Source }>;

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

/** In a sentence, where a read model was not made anew any more after its stream had been mended into another life; else undefined. */
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
    ? `${name} follows ${stream} as it was before it was mended.`
    : undefined;
}
