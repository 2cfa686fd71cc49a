import { list, Malformed, nodeText, record } from './node-json.ts';

/** Where a node lists its gRPC services. */
export const servicesPath = '/api/v1/services';

/** A node's list of services is asked for no more often than this. */
export const servicesEveryMs = 3_600_000;

const maxListed = 256;
/** What a gRPC service, by its name without package, makes a node: the words of spec 2. */
const offered: Readonly<Record<string, string>> = { CascadeService: 'cascade', SenseService: 'sense' };

/** What a node's list of services says it offers: `cascade`, `sense`; nothing for an ill-formed answer. */
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
 * Whether it is time to ask for a node's list of services again; it is, too, where the clock was set back behind the
 * last time.
 */
export function isServicesDue(askedAt: string | undefined, nowMs: number): boolean {
  const ageMs = nowMs - Date.parse(askedAt ?? '');
  return !(ageMs >= 0 && ageMs < servicesEveryMs);
}
