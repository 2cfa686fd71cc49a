import { readMemory } from '../machine/memory.ts';
import type { Processor } from '../machine/processor.ts';
import { readVolume } from '../machine/volume.ts';

const gib = 1024 ** 3;

/** What a node has of its machine, as its status says it. */
export type Resources = Awaited<ReturnType<typeof readResources>>;

/** Reads them; the filesystem that holds the folder is the node's volume. */
export async function readResources(folder: string, processor: () => Promise<Processor>) {
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
