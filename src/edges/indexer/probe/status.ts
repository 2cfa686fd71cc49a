import type { NodeFigures } from '../../../commands/probing.ts';
import { list, Malformed, nodeText, numberIn, record, wholeIn } from './node-json.ts';

/** Where a node tells its status; without the parameter it leaves its peers out. */
export const statusPath = '/api/v1/status?include_p2p_metrics=true';

/** What a status answer says. */
export type NodeStatus = Readonly<{ figures: NodeFigures; services: readonly string[] }>;

const bytesPerGb = 1024 ** 3;
const maxServices = 64;
const maxVolumes = 1_000;

/**
 * Reads a node's status answer as its protobuf JSON has it (64-bit integers as text); undefined for anything else.
 *
 * What is absent, null, or a number that cannot be (a share above 100 %, a negative size) is left out; a value of a
 * wrong type makes the whole answer malformed. Storage adds up all volumes, and is left out where one of them is.
 */
export function parseStatus(body: unknown): NodeStatus | undefined {
  try {
    const { version, uptime_seconds, resources, network, registered_services } = record(body);
    const { cpu, memory, storage_volumes } = record(resources ?? {});
    const { cores, usage_percent } = record(cpu ?? {});
    const { total_gb, used_gb } = record(memory ?? {});
    const volumes = list(storage_volumes ?? [], maxVolumes).map(record);
    const figures = {
      peerCount: wholeIn(record(network ?? {})['peers_count'], 2 ** 31),
      cpuCores: wholeIn(cores, 2 ** 31),
      cpuUsagePercent: numberIn(usage_percent, 100),
      memoryTotalGb: numberIn(total_gb),
      memoryUsedGb: numberIn(used_gb),
      storageTotalGb: sumGb(volumes.map((volume) => wholeIn(volume['total_bytes']))),
      storageUsedGb: sumGb(volumes.map((volume) => wholeIn(volume['used_bytes']))),
      uptimeSeconds: wholeIn(uptime_seconds),
    };
    const known = Object.fromEntries(Object.entries(figures).filter(([, value]) => value !== undefined));
    return {
      figures: { version: nodeText(version), ...known },
      services: list(registered_services ?? [], maxServices).map(nodeText),
    };
  } catch (caught) {
    if (caught instanceof Malformed) return undefined;
    throw caught;
  }
}

function sumGb(sizes: readonly (number | undefined)[]): number | undefined {
  if (sizes.length === 0) return undefined;
  return sizes.reduce<number | undefined>(
    (sum, size) => (sum === undefined || size === undefined ? undefined : sum + size / bytesPerGb),
    0,
  );
}
