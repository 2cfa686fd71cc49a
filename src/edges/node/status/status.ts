import { AppError } from '../../../kit/errors.ts';
import type { Cascade } from '../cascade/cascade.ts';
import type { OnChain } from './chain-view.ts';
import type { P2pMetrics } from './p2p-metrics.ts';
import type { Resources } from './resources.ts';

/** Where the parts of a node's status come from. */
export type StatusSources = Readonly<{
  /** Of the program, without the letter. */
  version: string;
  /** Start of the process, by `performance.now()`. */
  startedAtMs: number;
  /** Shown as long as the chain knows no address of the node. */
  configuredAddress: () => string;
  resources: () => Promise<Resources | undefined>;
  onChain: () => OnChain;
  p2pMetrics: () => Promise<P2pMetrics | undefined>;
  /** Its transfers under way and its peers; undefined for a node that accepts no files. */
  files: Pick<Cascade, 'tasks' | 'peers'> | undefined;
}>;

/** A node's status at this moment; the heavy part from its snapshot, and only on request (spec 1, StatusResponse). */
export async function statusOf(sources: StatusSources, withP2pMetrics: boolean) {
  const { address, rank } = sources.onChain();
  const peers = [...(sources.files?.peers.connected() ?? [])];
  const resources = await sources.resources();
  if (!resources) throw new AppError('UNAVAILABLE', 'The node cannot read what its machine has; try again shortly.');
  const p2pMetrics = withP2pMetrics ? await sources.p2pMetrics() : undefined;
  return {
    version: `v${sources.version}`,
    uptimeSeconds: BigInt(Math.floor((performance.now() - sources.startedAtMs) / 1000)),
    resources,
    runningTasks: sources.files?.tasks.running() ?? [],
    registeredServices: sources.files ? ['cascade'] : [],
    network: { peersCount: peers.length, peerAddresses: peers },
    rank,
    ipAddress: address ?? sources.configuredAddress(),
    ...(p2pMetrics ? { p2pMetrics } : {}),
  };
}
