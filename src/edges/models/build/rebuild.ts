import type pg from 'pg';
import type { AnyProjection } from '../../../projections/all.ts';
import { buildTables, type Limits } from './build.ts';
import { type Folding, foldingOf } from '../engine/folding.ts';
import { createGeneration, dropUnfinished } from '../engine/generation-tables.ts';
import { recordFilled } from '../engine/generations.ts';
import { type Pools, withClient } from '../pool.ts';
import { createCount, type Progress } from './load.ts';
import type { Source } from '../engine/source.ts';
import { switchTo, withBuildLock } from './switch.ts';

/** What a rebuild needs, and who wants to hear of it; `limits` bound its memory. */
export type RebuildOptions = Readonly<{
  pools: Pools;
  source: Source;
  projection: AnyProjection;
  network: string;
  signal: AbortSignal;
  onProgress?: ((progress: Progress) => void) | undefined;
  limits?: Limits | undefined;
}>;

/** What a rebuild ended with: the generation that is live now. */
export type Rebuilt = Readonly<{ generation: number; position: number; facts: number }>;

/**
 * Builds the next generation of a projection from the first fact on, compares it with an independent fold of the log,
 * then switches readers over to it.
 *
 * May run in any process, beside the live projector and under readers: they see no error, and no position goes back
 * unless the log was replaced. A process runs a few at a time, the others wait for their turn. Fails with a `StopError`
 * that names what differs when the comparison fails; that generation stays to be looked at. Fails with `CONFLICT` while
 * another rebuild of the projection runs; what a rebuild left unfinished is dropped by the next one. The generation
 * that was live stays as the previous one (`switchBack`).
 *
 * @example await rebuild({ pools, source: log, projection: actions, network: 'local', signal })
 */
export async function rebuild(options: RebuildOptions): Promise<Rebuilt> {
  const folding = foldingOf(options.projection);
  const { pools, network, signal } = options;
  const run = (): Promise<Rebuilt> =>
    withClient(pools.bulk, (client) =>
      withBuildLock(client, { network, projection: folding.name }, () => build(client, folding, options)),
    );
  return pools.builds.run(run, signal);
}

async function build(client: pg.PoolClient, folding: Folding, options: RebuildOptions): Promise<Rebuilt> {
  const { pools, source, network, signal, onProgress, limits } = options;
  await dropUnfinished(client, network, folding.name);
  const head = await source.head(folding.stream);
  const made = await createGeneration(client, folding, { network, incarnation: head.incarnation });
  const count = createCount(head.lastSequence - head.firstSequence + 1, onProgress);
  const position = await buildTables({ pools, source, folding, generation: made, head, count, signal, limits });
  const next = await recordFilled(client, network, { generation: made, position });
  const switchedAt = await switchTo(client, { folding, next, count }, options);
  return { generation: next.generation, position: switchedAt, facts: count(0) };
}
