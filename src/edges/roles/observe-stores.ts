import type { Database } from '../audit/open-database.ts';
import { observeArchive } from '../audit/observed.ts';
import type { Config } from '../config.ts';
import { type Observed, observedOf } from '../http/operations/observed.ts';
import type { Broker } from '../log/broker.ts';
import { type LagTracker, observeLog } from '../log/lag.ts';
import type { Leadership } from '../log/leadership.ts';
import { observeModels, type ObservedModels } from '../models/observed.ts';

/** What every process works with, whatever its roles. */
export type Stores = Readonly<{
  config: Pick<Config, 'scrubIntervalMs' | 'scrubPerSecond'>;
  broker: Pick<Broker, 'state'>;
  archive: Database['archive'];
  leadership: Pick<Leadership, 'registry'>;
  reader: ObservedModels;
  lag: LagTracker;
}>;

/** How the stores are, and what this process leads; every process shows it. */
export function observeStores({ config, broker, archive, leadership, reader, lag }: Stores): Observed {
  return observedOf([
    observeLog(broker.state, lag),
    observeArchive(archive, { ...config, clock: () => Date.now() }),
    observeModels(reader, lag),
    { checks: [], gauges: [leadership.registry] },
  ]);
}
