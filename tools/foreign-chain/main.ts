import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { configFromEnvironment } from '../../src/config.ts';
import type { GethGenesis } from '../../src/edges/evm/executor/state/genesis.ts';
import { migrate } from '../../src/engine/models/migrate.ts';
import { createPools } from '../../src/engine/models/pool.ts';
import { startServers } from '../../src/engine/servers/servers.ts';
import { createLogger } from '../../src/kit/logger.ts';
import { shutDown, stopSignal } from '../../src/kit/shutdown.ts';
import { ownVersion } from '../../src/kit/version.ts';
import { networkOfGenesis, serveForeignChain } from './serve.ts';

/**
 * Serves another Ethereum chain over the product's JSON-RPC until it is stopped; docs/evm.md has an example.
 *
 *   node tools/boot.mjs run tools/foreign-chain/main.ts --genesis genesis.json [--import chain.rlp]
 *
 * Of the settings it reads those of JSON-RPC, and where PostgreSQL runs: `DB_DSN`, or an embedded one below `DATA_DIR`.
 */
const { genesis: genesisFile, import: blocksFile } = parseArgs({
  options: { genesis: { type: 'string' }, import: { type: 'string' } },
}).values;
if (genesisFile === undefined) throw new Error('Name the genesis of the chain with --genesis');
const genesis: GethGenesis = JSON.parse(await readFile(genesisFile, 'utf8'));
const network = await networkOfGenesis(genesis);
const config = configFromEnvironment({ NETWORK: network });
const logger = createLogger({ level: config.logLevel, format: config.logFormat });
const signal = stopSignal(logger);
// A chain that is only served has no log: with an address of a broker, none is started.
const servers = await startServers({ ...config, natsUrl: 'nats://none' }, logger, signal);
const pools = createPools(servers.postgres, { applicationName: 'foreign-chain' });
await migrate({ pools, network });
await pools.end();
const { url, wsUrl, stop } = await serveForeignChain({
  postgres: servers.postgres,
  network,
  genesis,
  blocksFile,
  host: config.host,
  httpPort: config.evmHttpPort,
  wsPort: config.evmWsPort,
  origins: config.evmCorsAllowOrigins,
  namespaces: config.evmNamespaces,
  gasCap: BigInt(config.evmGasCap),
  callTimeoutMs: config.evmCallTimeoutMs,
  readThreads: config.evmReadThreads,
  version: await ownVersion(),
  logger,
  signal,
});
process.stdout.write(`${JSON.stringify({ network, urls: { 'json-rpc': url, 'json-rpc ws': wsUrl } })}\n`);
signal.addEventListener('abort', () => {
  const phases = [
    { name: 'JSON-RPC', capMs: 10_000, run: stop },
    { name: 'embedded servers', capMs: 15_000, run: servers.stop },
  ];
  void shutDown(phases, logger).then(() => process.exit());
});
