import type { NodeFigures } from '../../../commands/probing.ts';

/** A value of a type that a node's answer must not have. */
class Malformed extends Error {}

const maxTextLength = 256;
const unprintable = /\p{Cc}/u;

/** An object's members. */
function record(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Malformed();
  return value as Readonly<Record<string, unknown>>;
}

/** A list of at most so many items. */
function list(value: unknown, maxItems: number): readonly unknown[] {
  if (!Array.isArray(value) || value.length > maxItems) throw new Malformed();
  return value;
}

/** A short text that can be stored and shown anywhere: no control characters, no halves of characters. */
function nodeText(value: unknown): string {
  if (typeof value !== 'string' || value.length > maxTextLength || unprintable.test(value) || !value.isWellFormed())
    throw new Malformed();
  return value;
}

/**
 * A number, or text of one as protobuf JSON allows; undefined where it is absent, negative, no number or above `max`.
 */
function numberIn(value: unknown, max: number = Number.MAX_SAFE_INTEGER): number | undefined {
  if (value === undefined || value === null) return undefined;
  const isText =
    typeof value === 'string' && /^(?:-?\d{1,40}(?:\.\d{1,40})?(?:e[+-]?\d{1,3})?|NaN|-?Infinity)$/i.test(value);
  if (!isText && typeof value !== 'number') throw new Malformed();
  const number = Number(value);
  return number >= 0 && number <= max ? number : undefined;
}

/** The same for an integer; one with a fraction is malformed. */
function completeIn(value: unknown, max?: number): number | undefined {
  const number = numberIn(value, max);
  if (number !== undefined && !Number.isInteger(number)) throw new Malformed();
  return number;
}

/** The path of a node's status; without the parameter it leaves its peers out. */
export const statusPath = '/api/v1/status?include_p2p_metrics=true';

/** The content of a status response. */
export type NodeStatus = Readonly<{ figures: NodeFigures; services: readonly string[] }>;

const bytesPerGb = 1024 ** 3;
const maxServices = 64;
const maxVolumes = 1_000;

/**
 * Reads a node's status response in its protobuf JSON (64-bit integers as text); undefined for anything else.
 *
 * A value that is absent, null, or an impossible number (a share above 100 %, a negative size) is left out; a value of
 * a wrong type makes the complete response malformed. Storage adds up all volumes, and is left out where one of them
 * is.
 */
export function parseStatus(body: unknown): NodeStatus | undefined {
  try {
    const { version, uptime_seconds, resources, network, registered_services } = record(body);
    const { cpu, memory, storage_volumes } = record(resources ?? {});
    const { cores, usage_percent } = record(cpu ?? {});
    const { total_gb, used_gb } = record(memory ?? {});
    const volumes = list(storage_volumes ?? [], maxVolumes).map(record);
    const figures = {
      peerCount: completeIn(record(network ?? {})['peers_count'], 2 ** 31),
      cpuCores: completeIn(cores, 2 ** 31),
      cpuUsagePercent: numberIn(usage_percent, 100),
      memoryTotalGb: numberIn(total_gb),
      memoryUsedGb: numberIn(used_gb),
      storageTotalGb: sumGb(volumes.map((volume) => completeIn(volume['total_bytes']))),
      storageUsedGb: sumGb(volumes.map((volume) => completeIn(volume['used_bytes']))),
      uptimeSeconds: completeIn(uptime_seconds),
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

/** Where a node lists its gRPC services. */
export const servicesPath = '/api/v1/services';

/** The least time between requests for a node's list of services. */
export const servicesEveryMs = 3_600_000;

const maxListed = 256;
/** The word of spec 2 for a gRPC service, by its name without package. */
const offered: Readonly<Record<string, string>> = { CascadeService: 'cascade', SenseService: 'sense' };

/** The services that a node's list offers: `cascade`, `sense`; none for an ill-formed response. */
export function parseServices(body: unknown): readonly string[] {
  try {
    const names = list(record(body)['services'] ?? [], maxListed).map((service) => nodeText(record(service)['name']));
    const words = names.map((name) => offered[name.slice(name.lastIndexOf('.') + 1)]);
    return [...new Set(words.filter((word) => word !== undefined))].toSorted();
  } catch (caught) {
    if (caught instanceof Malformed) return [];
    throw caught;
  }
}

/**
 * Returns whether a node's list of services is due again; it is, too, where the clock was set back behind the last
 * request.
 */
export function isServicesDue(requestedAt: string | undefined, nowMs: number): boolean {
  const ageMs = nowMs - Date.parse(requestedAt ?? '');
  return !(ageMs >= 0 && ageMs < servicesEveryMs);
}
