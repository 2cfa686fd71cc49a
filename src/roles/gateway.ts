import path from 'node:path';
import { gatewayKey } from '../edges/gateway/gateway-key.ts';
import { createGatewayChain } from '../edges/gateway/nodes/candidates.ts';
import { createGateway } from '../edges/gateway/rest/rest.ts';
import { openTransferFiles } from '../edges/gateway/tasks/files.ts';
import { openGatewayTasks } from '../edges/gateway/tasks/gateway-tasks.ts';
import { keepSwept } from '../edges/gateway/tasks/sweep.ts';
import { createChainClient } from '../edges/chain/rest/client.ts';
import { createOwnGateway } from '../edges/local-network/own-gateway.ts';
import { dataFolder } from '../engine/servers/instance.ts';
import { observedIn, type Part, type Role, type RoleContext, urlOf } from './role.ts';
import { serve } from './serve.ts';

/** The transfer gateway: uploads and downloads between people and SuperNodes. */
export const gateway = {
  name: 'gateway',
  async *start(context) {
    yield await startGateway(context);
  },
} as const satisfies Role;

async function startGateway(context: RoleContext): Promise<Part> {
  const { config, network, profile, version, broker, reader, lag, logger } = context;
  const { log, leases } = broker;
  const ending = new AbortController();
  const signal = AbortSignal.any([context.signal, ending.signal]);
  const chainUrl = urlOf(context.running, 'chain') ?? config.chainUrl;
  const client = createChainClient(chainUrl, profile);
  const { addressPrefix } = profile;
  const allowPrivate = config.probePrivateAddresses;
  const registeredPorts = config.nodePorts === 'registered';
  const allowHostNames = config.probeHostNames;
  const dialled = { addressPrefix, allowPrivate, allowHostNames, registeredPorts };
  const { chain, failures, hedges } = createGatewayChain(client, { ...dialled, signal, reader });
  const own = config.isLocal ? createOwnGateway(client, path.join(dataFolder(config), 'keys', 'gateway')) : undefined;
  const key = config.nodeTransport === 'secure' ? await gatewayKey(config, client, own?.makeKey) : undefined;
  const files = await openTransferFiles(
    config.transferDir ?? path.join(dataFolder(config), 'transfers'),
    config.transferSpace,
  );
  const nodes = {
    chain,
    failures,
    hedges,
    dialling: { key, leases, handshakes: new Map() },
    stallMs: config.nodeStallTimeoutMs,
    processingMs: config.nodeProcessingTimeoutMs,
  };
  const { connection } = broker;
  const moving = { connection, network, log, files, nodes, mostBytes: config.uploadMaxSize, logger, signal };
  const { runner, elsewhere, checks, ended } = openGatewayTasks(moving);
  const shared = { log, reader, chain, files, runner, elsewhere, logger, signal, version };
  const app = createGateway({
    ...shared,
    settings: config,
    pageUser: own?.pageUser,
    explorerUrl: () => (own && urlOf(context.running, 'start')?.replace(/\/$/, '')) ?? null,
    observed: () => observedIn(context),
    clock: () => Date.now(),
  });
  app.addHook('onReady', async () => await lag.ready);
  const part = await serve('gateway', app, {
    host: config.host,
    port: config.gatewayPort,
    urls: (base) => ({ gateway: base, transfers: `${base}/transfers` }),
  });
  const sweeping = keepSwept(
    { log, files, keepMs: config.downloadKeepMs, tempMs: config.uploadTempMaxAgeMs, logger },
    signal,
  );
  return {
    ...part,
    checks: [...part.checks, ...checks],
    gauges: runner.gauges,
    stop: async () => {
      ending.abort();
      await Promise.all([part.stop(), ended(), sweeping]);
      await Promise.all([files.close(), client.close()]);
    },
  };
}
