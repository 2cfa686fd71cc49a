import { AppError } from '../kit/errors.ts';
import { openAsked } from '../edges/evm/asked.ts';
import { readGenesis } from '../edges/evm/read-genesis.ts';
import { runForeignChain } from '../edges/evm/run-foreign-chain.ts';
import { startEvm } from '../edges/evm/start-evm.ts';
import { failureOf } from '../kit/failure.ts';
import { parseGenesis } from '../commands/ledger/genesis.ts';
import { localEvmConfig } from '../edges/ledger/evm-chain.ts';
import type { Part, Role, RoleContext } from './role.ts';

/** JSON-RPC: of the local network's chain, or of another Ethereum chain where its genesis is given. */
export const evm = {
  name: 'evm',
  ports: ({ isLocal, host, evmGenesis, evmHttpPort, evmWsPort }) =>
    isLocal || evmGenesis !== undefined
      ? [
          { setting: 'EVM_HTTP_PORT', host, port: evmHttpPort },
          { setting: 'EVM_WS_PORT', host, port: evmWsPort },
        ]
      : [],
  async *start(context) {
    const { evmGenesis, isLocal } = context.config;
    if (evmGenesis !== undefined) yield await startForeign(context, evmGenesis);
    else if (isLocal) yield await startLocal(context);
  },
} as const satisfies Role;

async function startForeign(context: RoleContext, genesisFile: string): Promise<Part> {
  const chain = await runForeignChain({
    ...servingOf(context),
    postgres: context.postgres,
    network: context.network,
    genesis: await readGenesis(genesisFile),
    blocksFile: context.config.evmImport,
    signal: context.signal,
  });
  const { promise: failed } = Promise.withResolvers<never>();
  const urls = { 'json-rpc': chain.url, 'json-rpc ws': chain.wsUrl };
  return { name: 'JSON-RPC', urls, checks: [], gauges: [], failed, stop: chain.stop };
}

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
  const asked = openAsked(broker.connection, network);
  const place = { ...servingOf(context), onAsked: asked.tell };
  const served = await startEvm({ ...place, log: broker.log, reader, access, signal });
  return {
    name: 'JSON-RPC',
    urls: { 'json-rpc': served.url, 'json-rpc ws': served.wsUrl },
    checks: [],
    gauges: [],
    failed: failureOf([served.ended], signal),
    stop: async () => {
      own.abort();
      asked.close();
      await served.stop();
    },
  };
}

/** How JSON-RPC is served, whatever chain it is of. */
function servingOf({ config, version, logger }: RoleContext) {
  const { host, evmHttpPort: httpPort, evmWsPort: wsPort, evmNamespaces: namespaces } = config;
  const { evmCallTimeoutMs: callTimeoutMs, evmReadThreads: readThreads, evmCorsAllowOrigins: origins } = config;
  const gasCap = BigInt(config.evmGasCap);
  return { host, httpPort, wsPort, origins, namespaces, gasCap, callTimeoutMs, readThreads, version, logger };
}
