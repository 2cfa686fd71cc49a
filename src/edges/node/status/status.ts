import { readMemory } from '../machine/memory.ts';
import type { Processor } from '../machine/processor.ts';
import { readVolume } from '../machine/volume.ts';
import type { Tasks } from '../cascade/tasks.ts';
import type { OnChain } from './chain-view.ts';
import type { P2pMetrics } from './p2p-metrics.ts';

/** Where the parts of a node's status come from. */
export type StatusSources = Readonly<{
  /** Of the program, without the letter. */
  version: string;
  /** When the process began, by `performance.now()`. */
  startedAtMs: number;
  /** The node's folder: the filesystem that holds it is the node's volume. */
  folder: string;
  /** Shown as long as the chain knows no address of the node. */
  configuredAddress: () => string;
  processor: () => Promise<Processor>;
  onChain: () => OnChain;
  p2pMetrics: () => Promise<P2pMetrics | undefined>;
  /** Its files under way; undefined for a node that takes none. */
  tasks: Tasks | undefined;
}>;

const gib = 1024 ** 3;

/**
 * A node's status at this moment; the heavy part from its snapshot, and only where it is asked for (spec 1,
 * StatusResponse).
 */
export async function statusOf(sources: StatusSources, withP2pMetrics: boolean) {
  const { address, rank } = sources.onChain();
  const p2pMetrics = withP2pMetrics ? await sources.p2pMetrics() : undefined;
  return {
    version: `v${sources.version}`,
    uptimeSeconds: BigInt(Math.floor((performance.now() - sources.startedAtMs) / 1000)),
    resources: await resourcesOf(sources),
    runningTasks: sources.tasks?.running() ?? [],
    registeredServices: sources.tasks ? ['cascade'] : [],
    network: { peersCount: 0, peerAddresses: [] },
    rank,
    ipAddress: address ?? sources.configuredAddress(),
    ...(p2pMetrics ? { p2pMetrics } : {}),
  };
}

async function resourcesOf({ folder, processor }: StatusSources) {
  const { usagePercent, cores } = await processor();
  const { total, available } = readMemory();
  const volume = await readVolume(folder);
  return {
    cpu: { usagePercent, cores },
    memory: {
      totalGb: total / gib,
      usedGb: (total - available) / gib,
      availableGb: available / gib,
      usagePercent: (100 * (total - available)) / total,
    },
    storageVolumes: [
      {
        path: volume.mount,
        totalBytes: volume.total,
        usedBytes: volume.used,
        availableBytes: volume.available,
        usagePercent: volume.total === 0n ? 0 : (100 * Number(volume.used)) / Number(volume.total),
      },
    ],
    hardwareSummary: `${cores} cores / ${Math.round(total / gib)}GB RAM`,
  };
}
