import type { Acts } from '../edges/admin/acts.ts';
import { createCheckpoints } from '../engine/archive/proof/checkpoints.ts';
import { signNow } from '../engine/archive/proof/sign-now.ts';
import type * as thread from '../engine/archive/thread.ts';
import { rebuildingInWorker } from '../engine/models/build/rebuild-in-worker.ts';
import { dropPrevious, switchBack } from '../engine/models/build/switch.ts';
import { metaSchema } from '../engine/models/engine/generations.ts';
import { pauseProjection, resumeProjection } from '../engine/models/engine/pausing.ts';
import { throughPool } from '../engine/models/pool.ts';
import { streamTable } from '../events/streams.ts';
import { AppError } from '../kit/errors.ts';
import { runInWorker } from '../kit/threads/worker.ts';
import { type AnyProjection, projections } from '../projections/all.ts';
import type { Context } from './context.ts';

const inspection = { name: 'inspect', module: new URL('../engine/archive/thread.ts', import.meta.url) };

/** The work that an operator may have done; what compares and folds much runs in threads. */
export function actsOf({ nats, postgres, folder, network, pools, broker }: Context): Acts {
  const { log: source } = broker;
  const rebuild = rebuildingInWorker({ nats, postgres, network, pools, source });
  const access = { nats, postgres, network, policies: streamTable, folder };
  const checkpoints = createCheckpoints(throughPool(pools.archive), metaSchema(network));
  const inspect =
    (isRepairing: boolean): Acts['scrub'] =>
    (stream) =>
    (options) =>
      runInWorker<typeof thread, 'inspectStream'>(
        inspection,
        'inspectStream',
        { access, stream, isRepairing },
        options,
      );
  return {
    rebuild: (name) => (options) => rebuild(projectionOf(name), options),
    back:
      (name) =>
      ({ signal }) =>
        switchBack({ pools, source, projection: projectionOf(name), network, signal }),
    drop:
      (projection) =>
      ({ signal }) =>
        dropPrevious({ pools, network, signal }, projection),
    pause: (projection) => async () => await pauseProjection(pools.write, { network, projection }),
    resume: (projection) => async () => await resumeProjection(pools.write, { network, projection }),
    checkpoint:
      (stream) =>
      ({ signal }) =>
        signNow({ nc: broker.connection, network, checkpoints, log: source, signal }, stream),
    scrub: inspect(false),
    repair: inspect(true),
  };
}

function projectionOf(name: string): AnyProjection {
  const projection = projections.find((one) => one.name === name);
  if (projection) return projection;
  throw new AppError('NOT_FOUND', `There is no projection ${name}`);
}
