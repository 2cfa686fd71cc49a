import { setTimeout as pause } from 'node:timers/promises';
import { type AnyProjection, projections } from '../../projections/all.ts';
import type { Leasing } from '../log/leasing.ts';
import type { Logger } from '../kit/logger.ts';
import { rebuild } from '../models/build/rebuild.ts';
import type { BothStores } from './archiver.ts';
import { checkModel } from './check-models.ts';
import { leftBehind, type Models } from './models.ts';
import { isSoundStream } from './scrub.ts';

/** The read models, and how closely they are watched. */
export type ModelKeeping = Models &
  BothStores &
  Readonly<{ leases: Leasing; log: Logger; scrubIntervalMs: number; signal: AbortSignal }>;

/** At most this share of the time goes into folding the log for nothing but a comparison. */
const restPerWork = 9;

/**
 * Compares each read model with a fold of the log again and again until the signal ends it, and rebuilds one that differs; one
 * process at a time does so.
 *
 * Never fails: what goes wrong is logged and tried again.
 */
export async function keepModels(keeping: ModelKeeping): Promise<void> {
  const { leases, log, scrubIntervalMs, signal } = keeping;
  const hold = (): Promise<void> =>
    leases.hold('models', signal, async (lease) => {
      while (!lease.signal.aborted) {
        const began = performance.now();
        for (const projection of projections) await keepOne(keeping, projection, lease.signal);
        const restMs = Math.max(scrubIntervalMs, (performance.now() - began) * restPerWork);
        await pause(restMs, undefined, { signal: lease.signal }).catch(() => undefined);
      }
    });
  while (!signal.aborted) await hold().catch((err: unknown) => log.warn({ err }, 'models gave up their lease'));
}

async function keepOne(keeping: ModelKeeping, projection: AnyProjection, signal: AbortSignal): Promise<void> {
  const { store, log } = keeping;
  if (signal.aborted) return;
  try {
    const differs = (await leftBehind(keeping, projection)) ?? (await checkModel(keeping, projection, signal));
    // A read model is never made from a damaged stream: that one is mended first.
    if (differs === undefined || !(await isSoundStream(keeping, projection.stream, signal))) return;
    log.error({ projection: projection.name, differs }, 'a read model differs from the log; rebuilding it');
    const { generation } = await rebuild({ ...keeping, projection, signal });
    const mended = `Read model ${projection.name} was rebuilt from the log; generation ${generation} is live.`;
    await store.recordMending(projection.stream, [differs, mended]);
    log.warn({ projection: projection.name, generation }, 'a store was mended');
  } catch (err) {
    if (!signal.aborted) log.warn({ err, projection: projection.name }, 'comparison of a read model waits');
  }
}
