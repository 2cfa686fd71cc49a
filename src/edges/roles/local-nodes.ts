import path from 'node:path';
import { failureOf } from '../kit/failure.ts';
import { dataFolder } from '../kit/instance.ts';
import { hostPort } from '../kit/net-address.ts';
import { castOf } from '../local-network/cast.ts';
import { startLocalNodes } from '../local-network/nodes/local-nodes.ts';
import { playOutages } from '../local-network/outages.ts';
import type { NodePorts } from '../node/start-node.ts';
import { type Part, type RoleContext, urlOf } from './role.ts';

/** The ports that SuperNodes have everywhere. */
const usualPorts: NodePorts = { grpc: 4444, p2p: 4445, http: 8002 };

/** The SuperNodes of the local network, in processes of their own, and now and then an outage of one. */
export async function startLocalSuperNodes({
  config,
  profile,
  version,
  logger,
  signal,
  running,
}: RoleContext): Promise<Part> {
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

/** Where a node tells its status over HTTP. */
export function statusUrl(host: string, port: number): string {
  return `http://${hostPort(host, port)}/api/v1/status`;
}
