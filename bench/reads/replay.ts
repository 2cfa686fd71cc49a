import type pg from 'pg';
import { runAtIdlePriority } from '../../src/engine/servers/give-way.ts';
import { migrate } from '../../src/engine/models/migrate.ts';
import { createPools } from '../../src/engine/models/pool.ts';
import { rebuild } from '../../src/engine/models/build/rebuild.ts';
import { projections } from '../../src/projections/all.ts';
import { sourceOf } from './source.ts';
import { type Size, worldOf } from './world.ts';

/** What is built: the named projections, all where none is named. */
export type Replay = Readonly<{ config: pg.ClientConfig; network: string; size: Size; only?: readonly string[] }>;

// Builds read models from the load's log, as a process of its own; says how fast, and ends.
const { config, network, size, only } = JSON.parse(process.argv[2] ?? '{}') as Replay;
const pools = createPools(config, { applicationName: 'replay' });
await runAtIdlePriority(pools, config);
const source = sourceOf(worldOf(size));
const ending = new AbortController();
process.on('disconnect', () => process.exit());
await migrate({ pools, network });
for (const projection of projections.filter(({ name }) => !only || only.includes(name))) {
  const began = performance.now();
  const { facts } = await rebuild({ pools, source, projection, network, signal: ending.signal });
  process.stderr.write(`${projection.name}: ${facts} facts in ${Math.round(performance.now() - began)} ms\n`);
}
// What was written goes to disk now, not while something else is measured.
await pools.bulk.query('checkpoint');
await pools.end();
process.disconnect?.();
