import path from 'node:path';
import { AppError } from '../../commands/errors.ts';
import { readKeyFile } from '../cosmos/key-file.ts';
import { accountOf, publicKeyOf } from '../cosmos/keys.ts';
import { createChainClient } from '../indexer/chain/client.ts';
import { failureOf } from '../kit/failure.ts';
import { dataFolder } from '../kit/instance.ts';
import { hostPort } from '../kit/net-address.ts';
import { castOf } from '../local-network/cast.ts';
import { startLocalNodes } from '../local-network/nodes/local-nodes.ts';
import { playOutages } from '../local-network/outages.ts';
import { sampleProcessors } from '../node/machine/processor.ts';
import { type NodePorts, startNode } from '../node/start-node.ts';
import { type Part, type Role, type RoleContext, urlOf } from './role.ts';

/** An operator's SuperNode; on the local network those of the network, on addresses of their own. */
export const node = {
  name: 'node',
  ports: ({ isLocal, host, grpcPort, nodeHttpPort, p2pPort }) =>
    isLocal
      ? []
      : [
          { setting: 'GRPC_PORT', host, port: grpcPort },
          { setting: 'NODE_HTTP_PORT', host, port: nodeHttpPort },
          { setting: 'P2P_PORT', host, port: p2pPort },
        ],
  async *start(context) {
    yield await (context.config.isLocal ? startLocal(context) : startOwn(context));
  },
} as const satisfies Role;

/** The ports that SuperNodes have everywhere. */
const usualPorts: NodePorts = { grpc: 4444, p2p: 4445, http: 8002 };

async function startLocal({ config, profile, version, logger, signal, running }: RoleContext): Promise<Part> {
  const { localSeed: seed, localSubnet: subnet, localNodes: count, localNodesApart: apart } = config;
  const own = new AbortController();
  const ending = AbortSignal.any([signal, own.signal]);
  const hosted = await startLocalNodes({
    plan: {
      chainUrl: urlOf(running, 'chain') ?? config.chainUrl,
      profile,
      version,
      snapshotMs: config.statusSnapshotIntervalMs,
      log: { level: config.logLevel, format: config.logFormat },
    },
    nodes: castOf(seed, subnet)
      .realNodes.slice(0, count)
      .map(({ host, account: { account } }, index) => ({
        host,
        ports: usualPorts,
        folder: path.join(dataFolder(config), 'nodes', String(index + 1)),
        account,
      })),
    apart,
    logger,
    signal: ending,
  });
  const outages = config.localOutages ? playOutages(hosted.nodes, { seed, logger, signal: ending }) : Promise.resolve();
  return {
    name: 'local SuperNodes',
    urls: Object.fromEntries(
      hosted.nodes.map(({ host }, index) => [`node ${index + 1}`, statusUrl(host, usualPorts.http)]),
    ),
    checks: [],
    gauges: [],
    failed: failureOf([outages], ending),
    stop: async () => {
      own.abort();
      await Promise.allSettled([hosted.stop(), outages]);
    },
  };
}

async function startOwn({ config, profile, version, logger, signal, running }: RoleContext): Promise<Part> {
  const { host, grpcPort, p2pPort, nodeHttpPort, nodeKeyFile, nodeKeyType: keyType } = config;
  if (nodeKeyFile === undefined)
    throw new AppError(
      'INVALID_ARGUMENT',
      'A SuperNode needs the key of its account: name its file with NODE_KEY_FILE',
    );
  const account = accountOf(publicKeyOf(await readKeyFile(nodeKeyFile, keyType)));
  const chain = createChainClient(urlOf(running, 'chain') ?? config.chainUrl, profile);
  const { ports, stop } = await startNode({
    host,
    ports: { grpc: grpcPort, p2p: p2pPort, http: nodeHttpPort },
    folder: path.join(dataFolder(config), 'node'),
    account,
    chain,
    addressPrefix: profile.addressPrefix,
    version,
    processor: sampleProcessors(signal),
    snapshotMs: config.statusSnapshotIntervalMs,
    logger,
  });
  return {
    name: 'SuperNode',
    urls: { 'node grpc': `http://${hostPort(host, ports.grpc)}`, 'node status': statusUrl(host, ports.http) },
    checks: [],
    gauges: [],
    failed: failureOf([], signal),
    stop: async () => {
      await stop();
      await chain.close();
    },
  };
}

function statusUrl(host: string, port: number): string {
  return `http://${hostPort(host, port)}/api/v1/status`;
}
