import type pg from 'pg';
import { toAppError } from '../../../kit/errors.ts';
import { projections } from '../../../projections/all.ts';
import type { ProjectionName } from '../../../projections/projection.ts';
import type { TaskContext } from '../../../kit/threads/worker.ts';
import type { BrokerAccess } from '../../log/broker.ts';
import { connectNats } from '../../log/connection.ts';
import { createLog } from '../../log/log.ts';
import { StopError } from '../database-error.ts';
import { sequenceOf } from '../engine/source.ts';
import { createPools } from '../pool.ts';
import type { RebuildProgress } from './load.ts';
import { rebuild, type Rebuilt } from './rebuild.ts';

/**
 * Where the log and the database are, and what is rebuilt; as plain data, for a thread opens connections of its own.
 */
export type RebuildInput = Readonly<{
  nats: BrokerAccess;
  postgres: pg.ClientConfig;
  network: string;
  name: ProjectionName;
}>;

/** A rebuild that ended, or the reason why waiting does not help, with the fact that could not be applied. */
type RebuildEnd = Rebuilt | Readonly<{ stopped: string; sequence: number | undefined }>;

/** The task of the thread: rebuilds one projection as `rebuild` does. */
export async function rebuildOne(
  { nats, postgres, network, name }: RebuildInput,
  { signal, progress }: TaskContext<RebuildProgress>,
): Promise<RebuildEnd> {
  const projection = projections.find((one) => one.name === name);
  if (!projection) throw new Error(`There is no projection ${name}`);
  const pools = createPools(postgres, { applicationName: `annals ${network}` });
  try {
    const nc = await connectNats({ ...nats, name: `annals ${network} rebuild` });
    try {
      return await rebuild({
        pools,
        source: createLog(nc, network),
        projection,
        network,
        signal,
        onProgress: progress,
      });
    } finally {
      await nc.close();
    }
  } catch (caught) {
    const sequence = sequenceOf(caught);
    if (caught instanceof StopError || sequence !== undefined) return { stopped: toAppError(caught).message, sequence };
    throw caught;
  } finally {
    await pools.end();
  }
}
