import { parseGenesis } from '../commands/ledger/genesis.ts';
import { type ServingThread, startServingThread } from '../edges/evm/workers/serving.ts';
import { localEvmConfig } from '../edges/ledger/evm-chain.ts';
import { damageOf } from '../engine/models/database-error.ts';
import { reportDamage } from '../engine/models/pool.ts';
import { AppError } from '../kit/errors.ts';
import type { LogOptions } from '../kit/logger.ts';
import { type Part, type Role, type RoleContext, tracesOf } from './role.ts';

/** JSON-RPC of the local network's chain; other chains have none. */
export const evm = {
  name: 'evm',
  start: (context) => (context.config.isLocal ? startLocal(context, startServingThread()) : startNothing()),
} as const satisfies Role;

async function* startNothing(): AsyncGenerator<Part> {}

async function* startLocal(context: RoleContext, thread: ServingThread): AsyncGenerator<Part> {
  const { config, network, broker, pools, leadership, version, nats, postgres, signal } = context;
  const beginning = (await broker.log.readOne('LEDGER', 1))?.fact;
  if (beginning?.type !== 'ChainInitialised')
    throw new AppError('UNAVAILABLE', 'There is no chain yet: a process with the role ledger begins it');
  const chain = localEvmConfig(beginning.data.time, parseGenesis(beginning.data.genesis));
  const input = {
    host: config.host,
    httpPort: config.evmHttpPort,
    wsPort: config.evmWsPort,
    origins: config.evmCorsAllowOrigins,
    trustedProxies: config.trustedProxies,
    namespaces: config.evmNamespaces,
    gasCap: BigInt(config.evmGasCap),
    callTimeoutMs: config.evmCallTimeoutMs,
    readThreads: config.evmReadThreads,
    version,
    access: { postgres, network, config: chain },
    nats,
    log: logOptions(config),
    tracing: tracesOf(config, version, 'json-rpc'),
  };
  const served = await thread.serve(input, {
    onAppendRefused: leadership.onAppendRefused,
    onDamage: (damage) => reportDamage(pools.read, damageOf(damage)),
    signal,
  });
  yield {
    name: 'JSON-RPC',
    urls: { 'json-rpc': served.url, 'json-rpc ws': served.wsUrl },
    checks: [],
    gauges: [],
    failed: served.failed,
    stop: served.stop,
  };
}

/** A thread does not know whether the process writes to a terminal. */
function logOptions({ logLevel: level, logFormat: format }: RoleContext['config']): LogOptions {
  return { level, format: format || (process.stderr.isTTY ? 'pretty' : 'json') };
}
