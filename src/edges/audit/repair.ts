import { setTimeout as pause } from 'node:timers/promises';
import type { StreamName } from '../../events/streams.ts';
import type { Source } from '../models/engine/source.ts';
import type { BothStores } from './archiver.ts';
import { sentences } from './damage.ts';
import { type Mended, mend, type MendOptions } from './mend.ts';
import { rebuildModels, resumeModels } from './models.ts';

/** Both stores, and the log as read models take it. */
export type Repairable = BothStores & Readonly<{ source: Source }>;

/** As for `mend`. */
export type RepairOptions = MendOptions;

const settleMs = 1500;

/**
 * Mends a stream and its archive, then lets the read models of it go on, or makes them anew where events changed their places.
 */
export async function repairStream(stores: Repairable, stream: StreamName, options: RepairOptions): Promise<Mended> {
  const { store } = stores;
  const mended = await mendBoth(stores, stream, options);
  if (mended.done.length > 0) await store.recordMending(stream, [...sentences(mended.report), ...mended.done]);
  return mended;
}

async function mendBoth(stores: Repairable, stream: StreamName, options: RepairOptions): Promise<Mended> {
  const { store, network, source } = stores;
  const mended = await mend(stores, stream, options);
  if (!mended.isRestored || options.isDryRun === true) return mended;
  const models = { pools: store.pools, network, source };
  const rebuilt = mended.isExact ? [] : await rebuildModels(models, stream, options.signal);
  await resumeModels(models, stream);
  // A projection that met the stream half restored may record its stop only now.
  await pause(settleMs, undefined, { signal: options.signal }).catch(() => undefined);
  await resumeModels(models, stream);
  return { ...mended, done: [...mended.done, ...rebuilt] };
}
