import { readMemory } from '../machine/memory.ts';
import type { Processor } from '../machine/processor.ts';
import { readVolume } from '../machine/volume.ts';

const gib = 1024 ** 3;

/** A node's share of its machine, in the form of its status. */
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
