import { createPools, withClient } from '../../src/engine/models/pool.ts';
import { foldingOf } from '../../src/engine/models/engine/folding.ts';
import { liveGeneration } from '../../src/engine/models/engine/generations.ts';
import { followLive } from '../../src/engine/models/engine/live.ts';
import { projections } from '../../src/projections/all.ts';
import type { Replay } from './replay.ts';
import { sourceOf } from './source.ts';
import { worldOf } from './world.ts';

/** What is written to: a load that was built before, and how many facts a second it grows by. */
type Growth = Omit<Replay, 'only'> & Readonly<{ perSecond: number }>;

// Applies new facts of actions to the live read models over them, as a process of its own, until its parent ends it.
const { config, network, size, perSecond } = JSON.parse(process.argv[2] ?? '{}') as Growth;
const pools = createPools(config, { applicationName: 'write' });
const world = worldOf(size);
const { signal } = new AbortController();
process.on('disconnect', () => process.exit());
await Promise.all(
  projections
    .filter(({ stream }) => stream === 'ACTIONS')
    .map(async (projection) => {
      const folding = foldingOf(projection);
      const live = await withClient(pools.write, (client) =>
        liveGeneration(client, { network, projection: folding.name }),
      );
      if (!live) throw new Error(`${folding.name} was not built`);
      const source = sourceOf(world, { perSecond, followed: live.position });
      await followLive({ pools, source, folding, network }, live, signal);
    }),
);
