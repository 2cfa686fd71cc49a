import { openSharedBroker } from '../../../engine/archive/shared-broker.ts';
import type { Broker, BrokerAccess } from '../../../engine/log/broker.ts';
import { type DamageNotice, damageNotice } from '../../../engine/models/database-error.ts';
import { createPools, onDamage, type Pools } from '../../../engine/models/pool.ts';
import { createReader } from '../../../engine/models/read/reading.ts';
import { createLogger, type LogOptions } from '../../../kit/logger.ts';
import type { TaskContext } from '../../../kit/threads/worker.ts';
import type { TracingOptions } from '../../../kit/tracing/settings.ts';
import { startTracing } from '../../../kit/tracing/tracing.ts';
import { executeFromTables } from '../../bus.ts';
import { openRequested } from '../asked.ts';
import { type EvmSettings, startEvm } from '../start-evm.ts';

/** How the JSON-RPC is served and from which stores; plain data, for the thread has connections of its own. */
export type ServeInput = EvmSettings & Readonly<{ nats: BrokerAccess; log: LogOptions; tracing?: TracingOptions }>;

/** Reports of the thread to its owner: first that it serves, then what the owner's stores are to know. */
export type ServeNotice =
  | Readonly<{ kind: 'served'; url: string; wsUrl: string }>
  | Readonly<{ kind: 'refused'; stream: string }>
  | Readonly<{ kind: 'damage'; damage: DamageNotice }>;

type Context = TaskContext<ServeNotice>;

/** The first task of the thread, which has loaded all that serving takes by then. */
export const prepare = (): void => executeFromTables();

/** The other task: serves JSON-RPC until its signal aborts; fails when it can follow the log no more. */
export async function serve(input: ServeInput, context: Context): Promise<void> {
  const { network, postgres } = input.access;
  const { nats } = input;
  const { progress } = context;
  const stopTracing = input.tracing && (await startTracing(input.tracing, createLogger(input.log)));
  const pools = createPools(postgres, { applicationName: `annals ${network} json-rpc` });
  onDamage(pools, (damage) => progress({ kind: 'damage', damage: damageNotice(damage) }));
  try {
    const onAppendRefused = (stream: string): void => progress({ kind: 'refused', stream });
    const broker = await openSharedBroker({ nats, network, pools: () => Promise.resolve(pools), onAppendRefused });
    try {
      await serveFrom({ broker, pools }, input, context);
    } finally {
      await broker.close();
    }
  } finally {
    await pools.end();
    await stopTracing?.();
  }
}

type Stores = Readonly<{ broker: Broker; pools: Pools }>;

async function serveFrom({ broker, pools }: Stores, input: ServeInput, { signal, progress }: Context): Promise<void> {
  const { log, access, tracing: _, ...settings } = input;
  const { network } = access;
  const requested = openRequested(broker.connection, network);
  const served = await startEvm({
    ...settings,
    access,
    log: broker.log,
    reader: createReader({ pools, network }),
    logger: createLogger(log),
    onAsked: requested.tell,
    signal,
  });
  try {
    progress({ kind: 'served', url: served.url, wsUrl: served.wsUrl });
    await served.ended;
  } finally {
    await served.stop();
  }
}
