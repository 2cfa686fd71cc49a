import type { ChildProcess } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { failureOf } from '../kit/failure.ts';
import { dataFolder } from '../engine/servers/instance.ts';
import { hostPort } from '../kit/net-address.ts';
import { castOf, type RealNode } from '../edges/local-network/cast.ts';
import { storeFirstFiles } from '../edges/local-network/first-files.ts';
import { forkNodesChild } from '../edges/local-network/nodes/child.ts';
import { startLocalNodes } from '../edges/local-network/nodes/local-nodes.ts';
import type { NodePlan } from '../edges/local-network/nodes/orders.ts';
import { playOutages } from '../edges/local-network/outages.ts';
import { observeNodes } from '../edges/node/observed.ts';
import type { FileBounds } from '../edges/node/cascade/cascade.ts';
import type { NodePorts } from '../edges/node/start-node.ts';
import { type Part, type RoleContext, tracesOf, urlOf } from './role.ts';

/** The ports that SuperNodes have everywhere. */
const usualPorts: NodePorts = { grpc: 4444, p2p: 4445, http: 8002 };

/**
 * The SuperNodes of the local network, in processes of their own, and now and then an outage of one.
 *
 * The processes start at once: they load their modules while the chain is being read.
 */
export function startLocalSuperNodes(context: RoleContext): AsyncIterable<Part> {
  const { localNodes, localNodesApart } = context.config;
  const started = Array.from({ length: localNodesApart ? localNodes : 1 }, forkNodesChild);
  return (async function* () {
    yield await hostNodes(context, started);
  })();
}

async function hostNodes(context: RoleContext, begun: readonly ChildProcess[]): Promise<Part> {
  const { config, profile, version, logger, signal, running, nats, postgres, network } = context;
  const { localSeed: seed, localSubnet: subnet, localNodes: count, localNodesApart: apart } = config;
  const own = new AbortController();
  const ending = AbortSignal.any([signal, own.signal]);
  const chainUrl = urlOf(running, 'chain') ?? config.chainUrl;
  const hosted = await startLocalNodes({
    plan: {
      chainUrl,
      profile,
      version,
      snapshotMs: config.statusSnapshotIntervalMs,
      secure: config.grpcSecure,
      // Beside them the script lists nodes that nobody runs: no more copies can be had than there are nodes.
      files: { ...fileBoundsOf(config), copies: Math.min(config.storageCopies, count), allowPrivate: true },
      stores: { nats, postgres, network },
      log: { level: config.logLevel, format: config.logFormat },
      tracing: tracesOf(config, version, 'nodes'),
    },
    nodes: await plansOf(castOf(seed, subnet).realNodes.slice(0, count), path.join(dataFolder(config), 'nodes')),
    apart,
    begun,
    logger,
    signal: ending,
  });
  const outages = config.localOutages ? playOutages(hosted.nodes, { seed, logger, signal: ending }) : Promise.resolve();
  const storing = storeFirstFiles({ chainUrl, profile, logger, signal: ending });
  return {
    name: 'local SuperNodes',
    urls: Object.fromEntries(
      hosted.nodes.map(({ host }, index) => [`node ${index + 1}`, statusUrl(host, usualPorts.http)]),
    ),
    ...observeNodes(hosted.observe),
    failed: failureOf([outages, storing], ending),
    stop: async () => {
      own.abort();
      await Promise.allSettled([hosted.stop(), outages, storing]);
    },
  };
}

/** The settings of a SuperNode's files. */
export function fileBoundsOf({
  storageSpace: storageBytes = -1,
  maxFileBytes,
  storageCopies: copies,
  repairAfterMs,
  probePrivateAddresses: allowPrivate,
}: RoleContext['config']): FileBounds {
  return { storageBytes, maxFileBytes, copies, repairAfterMs, allowPrivate };
}

/** Each with a folder of its own below, in which its key lies; only the owner of the data may read it. */
async function plansOf(nodes: readonly RealNode[], below: string): Promise<NodePlan[]> {
  return await Promise.all(
    nodes.map(async ({ host, account }, index) => {
      const folder = path.join(below, String(index + 1));
      const keyFile = path.join(folder, 'key');
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await writeFile(keyFile, `${Buffer.from(account.key.bytes).toString('hex')}\n`, { mode: 0o600 });
      return { host, ports: usualPorts, folder, keyFile };
    }),
  );
}

/** Where an operator's node is reached. */
export function urlsOfNode(host: string, { grpc, http }: NodePorts, hasTls: boolean): Part['urls'] {
  return {
    'node grpc': `${hasTls ? 'https' : 'http'}://${hostPort(host, grpc)}`,
    'node status': statusUrl(host, http),
  };
}

function statusUrl(host: string, port: number): string {
  return `http://${hostPort(host, port)}/api/v1/status`;
}
