import { readGenesis } from '../evm/read-genesis.ts';
import { runForeignChain } from '../evm/run-foreign-chain.ts';
import type { Part, Role, RoleContext } from './role.ts';

/** JSON-RPC: of another Ethereum chain, where its genesis is given. */
export const evm = {
  name: 'evm',
  ports: ({ host, evmGenesis, evmHttpPort, evmWsPort }) =>
    evmGenesis === undefined
      ? []
      : [
          { setting: 'EVM_HTTP_PORT', host, port: evmHttpPort },
          { setting: 'EVM_WS_PORT', host, port: evmWsPort },
        ],
  async *start(context) {
    const { evmGenesis } = context.config;
    if (evmGenesis !== undefined) yield await startForeign(context, evmGenesis);
  },
} as const satisfies Role;

async function startForeign(
  { config, postgres, network, version, logger, signal }: RoleContext,
  genesisFile: string,
): Promise<Part> {
  const chain = await runForeignChain({
    postgres,
    network,
    genesis: await readGenesis(genesisFile),
    blocksFile: config.evmImport,
    host: config.host,
    httpPort: config.evmHttpPort,
    wsPort: config.evmWsPort,
    namespaces: config.evmNamespaces,
    gasCap: BigInt(config.evmGasCap),
    callTimeoutMs: config.evmCallTimeoutMs,
    readThreads: config.evmReadThreads,
    version,
    logger,
    signal,
  });
  const { promise: failed } = Promise.withResolvers<never>();
  const urls = { 'json-rpc': chain.url, 'json-rpc ws': chain.wsUrl };
  return { name: 'JSON-RPC', urls, checks: [], gauges: [], failed, stop: chain.stop };
}
