import type pg from 'pg';
import type { StreamName, StreamPolicies } from '../../events/streams.ts';
import type { TaskContext } from '../../kit/worker.ts';
import { connectNats } from '../log/connection.ts';
import { createLog } from '../log/log.ts';
import { createPools } from '../models/pool.ts';
import { bothStoresOf } from './archive.ts';
import { examine, type Examination, type ExamineOptions } from './examine.ts';
import type { Repairable } from './repair.ts';
import { isDamaged } from './report.ts';
import { scrub } from './scrub.ts';

/** Where both stores are, as plain data: a thread has connections of its own. */
export type StoresAccess = Readonly<{
  nats: Readonly<{ url: string; user?: string; pass?: string }>;
  postgres: pg.ClientConfig;
  network: string;
  policies: StreamPolicies;
}>;

/** One comparison of a stream with its archive, and the repair that may follow it. */
type StreamTask = Readonly<{ access: StoresAccess; stream: StreamName }> & Omit<ExamineOptions, 'signal'>;

/** One comparison of a read model with the log. */
type ModelTask = Readonly<{ access: StoresAccess; projection: string }>;

/** Compares a stream with its archive, drops what it has dropped, and repairs what may be repaired; see `examine`. */
export async function examineStream(
  { access, stream, ...options }: StreamTask,
  { signal }: TaskContext,
): Promise<Examination> {
  return await withStores(access, (stores) => examine(stores, stream, { ...options, signal }));
}

/**
 * Compares a read model with what its stream says; gives back what differs, in a sentence.
 *
 * Undefined where nothing does, and where the stream itself is damaged: that one is repaired first.
 */
export async function examineModel(
  { access, projection: name }: ModelTask,
  { signal }: TaskContext,
): Promise<string | undefined> {
  // Loaded here alone, so that a thread that compares a stream stays small.
  const [{ projections }, { checkModel, leftBehind }] = await Promise.all([
    import('../../projections/all.ts'),
    import('./models.ts'),
  ]);
  const projection = projections.find((one) => one.name === name);
  if (!projection) return undefined;
  return await withStores(access, async (stores) => {
    const models = { ...stores, pools: stores.store.pools };
    const differs = (await leftBehind(models, projection)) ?? (await checkModel(models, projection, signal));
    if (differs === undefined || isDamaged(await scrub(stores, projection.stream, { signal }))) return undefined;
    return differs;
  });
}

async function withStores<T>(
  { nats, postgres, network, policies }: StoresAccess,
  use: (stores: Repairable) => Promise<T>,
): Promise<T> {
  const nc = await connectNats({ ...nats, name: `annals ${network} auditor` });
  const pools = createPools(postgres, { applicationName: `annals ${network} auditor` });
  try {
    return await use({ ...bothStoresOf(nc, { network, pools, policies }), source: createLog(nc, network) });
  } finally {
    await Promise.allSettled([nc.close(), pools.end()]);
  }
}
