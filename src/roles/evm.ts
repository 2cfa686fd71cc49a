import { AppError } from '../kit/errors.ts';
import { openRequested } from '../edges/evm/asked.ts';
import { startEvm } from '../edges/evm/start-evm.ts';
import { failureOf } from '../kit/failure.ts';
import { parseGenesis } from '../commands/ledger/genesis.ts';
import { localEvmConfig } from '../edges/ledger/evm-chain.ts';
import type { Part, Role, RoleContext } from './role.ts';

/** JSON-RPC of the local network's chain; other chains have none. */
export const evm = {
  name: 'evm',
  ports: ({ isLocal, host, evmHttpPort, evmWsPort }) =>
    isLocal
      ? [
          { setting: 'EVM_HTTP_PORT', host, port: evmHttpPort },
          { setting: 'EVM_WS_PORT', host, port: evmWsPort },
        ]
      : [],
  async *start(context) {
    if (context.config.isLocal) yield await startLocal(context);
  },
} as const satisfies Role;

async function startLocal(context: RoleContext): Promise<Part> {
  const { network, broker, reader, postgres } = context;
  const own = new AbortController();
  const signal = AbortSignal.any([context.signal, own.signal]);
  const beginning = (await broker.log.readOne('LEDGER', 1))?.fact;
  if (beginning?.type !== 'ChainInitialised')
    throw new AppError('UNAVAILABLE', 'There is no chain yet: a process with the role ledger begins it');
  const access = {
    postgres,
    network,
    config: localEvmConfig(beginning.data.time, parseGenesis(beginning.data.genesis)),
  };
  const request = openRequested(broker.connection, network);
  const { config, version, logger } = context;
  const served = await startEvm({
    host: config.host,
    httpPort: config.evmHttpPort,
    wsPort: config.evmWsPort,
    origins: config.evmCorsAllowOrigins,
    namespaces: config.evmNamespaces,
    gasCap: BigInt(config.evmGasCap),
    callTimeoutMs: config.evmCallTimeoutMs,
    readThreads: config.evmReadThreads,
    onAsked: request.tell,
    version,
    logger,
    log: broker.log,
    reader,
    access,
    signal,
  });
  return {
    name: 'JSON-RPC',
    urls: { 'json-rpc': served.url, 'json-rpc ws': served.wsUrl },
    checks: [],
    gauges: [],
    failed: failureOf([served.ended], signal),
    stop: async () => {
      own.abort();
      request.close();
      await served.stop();
    },
  };
}
