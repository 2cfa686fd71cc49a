import { setTimeout as delay } from 'node:timers/promises';
import type { ProjectionName } from '../../../projections/projection.ts';
import { dropRetired, readableForMs } from '../engine/generation-tables.ts';
import { existingPrevious } from '../engine/generations.ts';
import { type Pools, withClient } from '../pool.ts';
import { withBuildLock } from './switch.ts';

/**
 * Drops the generation that was live before the last switch; gives back which one that was.
 *
 * Waits until no reader can look at it any more, a minute after the switch. Fails with `NOT_FOUND` when there is none.
 */
export async function dropPrevious(
  { pools, network, signal }: Readonly<{ pools: Pools; network: string; signal: AbortSignal }>,
  projection: ProjectionName,
): Promise<{ generation: number }> {
  return withClient(pools.bulk, (client) =>
    withBuildLock(client, { network, projection }, async () => {
      const { generation, retiredForMs } = await existingPrevious(client, { network, projection });
      await delay(Math.max(0, readableForMs - retiredForMs), undefined, { signal });
      await dropRetired(client, network, { projection, keepPrevious: false });
      return { generation };
    }),
  );
}
