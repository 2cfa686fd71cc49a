import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '../../../commands/errors.ts';
import type { AnyProjection } from '../../../projections/all.ts';
import { fingerprintOf } from '../engine/fingerprint.ts';
import { type Folding, foldingOf } from '../engine/folding.ts';
import { existingPrevious, type Generation } from '../engine/generations.ts';
import { type Pools, withClient } from '../pool.ts';
import { createCount } from './load.ts';
import type { Source } from '../engine/source.ts';
import { switchTo, withBuildLock } from './switch.ts';
import type { ProjectionName } from '../../../projections/projection.ts';
import { dropRetired, readableForMs } from '../engine/generation-tables.ts';

/** What a switch back needs. */
export type SwitchBackOptions = Readonly<{
  pools: Pools;
  source: Source;
  projection: AnyProjection;
  network: string;
  signal: AbortSignal;
}>;

/** What a switch back ended with: the generation that is live again, and how many facts it had missed. */
export type SwitchedBack = Readonly<{ generation: number; position: number; facts: number }>;

/**
 * Makes the generation live again that was live before the last switch, brought up to the log first; the other one
 * becomes the previous one.
 *
 * Readers see no error, and no position goes back. Fails with `NOT_FOUND` when there is none, and with `CONFLICT` when
 * other handlers made it than this program has, for only they can bring it forward, when the log is another one, or
 * while the projection is being rebuilt.
 *
 * @example await switchBack({ pools, source: log, projection: actions, network: 'local', signal })
 */
export async function switchBack(options: SwitchBackOptions): Promise<SwitchedBack> {
  const { pools, projection, network } = options;
  const folding = foldingOf(projection);
  return withClient(pools.bulk, (client) =>
    withBuildLock(client, { network, projection: folding.name }, async () => {
      const previous = await existingPrevious(client, { network, projection: folding.name });
      await checkFit(folding, previous, options.source);
      const count = createCount(0, undefined);
      const position = await switchTo(client, { folding, next: previous, count }, options);
      return { generation: previous.generation, position, facts: count(0) };
    }),
  );
}

async function checkFit(folding: Folding, previous: Generation, source: Source): Promise<void> {
  const { projection, generation, version, stream, incarnation } = previous;
  const what = `Generation ${generation} of ${projection}`;
  if (version !== folding.version || previous.fingerprint !== fingerprintOf(folding))
    throw new AppError(
      'CONFLICT',
      `${what} was made by version ${version} of the projection, and only that can bring it up to the log; this program ` +
        `has version ${folding.version}: run the verb with the program that made it`,
    );
  const head = await source.head(stream);
  if (head.incarnation !== incarnation)
    throw new AppError(
      'CONFLICT',
      `${what} follows the ${stream} of ${incarnation}; the log was created anew at ${head.incarnation}`,
    );
}

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
