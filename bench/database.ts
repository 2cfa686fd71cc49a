import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { liveGeneration } from '../src/engine/models/engine/generations.ts';
import { migrate } from '../src/engine/models/migrate.ts';
import { createPools, type Pools } from '../src/engine/models/pool.ts';
import { runProjector } from '../src/engine/models/engine/projector.ts';
import type { Leasing } from '../src/engine/log/leases.ts';
import type { FactSource } from '../src/engine/models/engine/source.ts';
import type { AnyProjection } from '../src/projections/all.ts';
import type { Context } from './context.ts';

/** The read models of a network in the group's database. */
export type Database = Readonly<{ pools: Pools; network: string }>;

/** Prepares the group's database for a network. */
export async function openDatabase(context: Context, network: string): Promise<Database> {
  const { config } = await context.postgres();
  const pools = createPools(config, { applicationName: 'annals bench' });
  context.defer(() => pools.end());
  await migrate({ pools, network });
  return { pools, network };
}

/** Nobody else is there to lease from. */
const leases: Leasing = { hold: (_name, signal, run) => run({ signal }) };

/** Runs a projection; gives back how to stop. */
export function startProjector(database: Database, source: FactSource, projection: AnyProjection): () => Promise<void> {
  const ending = new AbortController();
  const log = pino({ level: 'error' }, process.stderr);
  const { signal } = ending;
  const running = runProjector({ ...database, source, leases, projections: [projection], log, signal });
  return async () => {
    ending.abort();
    await running;
  };
}

/** Waits until the live generation of a projection has followed its stream to a sequence. */
export async function untilFollowed(
  { pools, network }: Database,
  projection: AnyProjection,
  { sequence, signal }: { sequence: number; signal: AbortSignal },
): Promise<void> {
  for (;;) {
    const live = await liveGeneration(pools.read, { network, projection: projection.name });
    if (live?.stoppedReason) throw new Error(live.stoppedReason);
    if (live && live.position >= sequence) return;
    await pause(5, undefined, { signal });
  }
}
