import { Counter, Gauge, Registry } from 'prom-client';
import { streams } from '../../events/streams.ts';
import { projectionNames } from '../../projections/projection.ts';
import { isLasting } from './leases.ts';

/** Figures of what this process leads, and of what was refused to it because another one leads now. */
export type Leadership = Readonly<{
  /** Where the figures are; shown with those of the API. */
  registry: Registry;
  /** A lease was acquired (true), lost or released (false). */
  onLease: (lease: string, isHeld: boolean) => void;
  /** The log refused an append, because its subject had advanced. */
  onAppendRefused: (stream: string) => void;
  /** The database refused a batch, because the checkpoint had advanced or belongs to a later epoch. */
  onBatchRefused: (projection: string) => void;
}>;

/** Counts leadership from now on. */
export function countLeadership(): Leadership {
  const registry = new Registry();
  const registers = [registry];
  const held = new Gauge({
    name: 'annals_lease_held',
    help: 'Whether this process holds a lease',
    labelNames: ['lease'],
    registers,
  });
  const appends = new Counter({
    name: 'annals_appends_refused_total',
    help: 'Appends that the log refused, because another process had written of the same entity',
    labelNames: ['stream'],
    registers,
  });
  const batches = new Counter({
    name: 'annals_batches_refused_total',
    help: 'Batches of a projection that the database refused, because another process leads it or another generation is live',
    labelNames: ['projection'],
    registers,
  });
  for (const stream of streams) appends.inc({ stream }, 0);
  for (const projection of projectionNames) batches.inc({ projection }, 0);
  return {
    registry,
    onLease: (lease, isHeld) => {
      if (isLasting(lease)) held.set({ lease }, Number(isHeld));
    },
    onAppendRefused: (stream) => appends.inc({ stream }),
    onBatchRefused: (projection) => batches.inc({ projection }),
  };
}
