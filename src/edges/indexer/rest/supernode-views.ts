import type { Static } from 'typebox';
import { AppError } from '../../../kit/errors.ts';
import { displayHost } from '../../../projections/fleet/address.ts';
import type { FleetNode } from '../../../projections/fleet/fleet.ts';
import { SuperNodeById } from '../../../projections/fleet/queries.ts';
import type { ReadSnapshot } from './reads.ts';
import type { superNodeMetrics } from './supernode-schemas.ts';

/** The SuperNode of an operator address, which alone is its id; `NOT_FOUND` where the chain lists none. */
export async function existing({ ask }: ReadSnapshot, id: string): Promise<FleetNode> {
  const node = id.includes('\0') ? undefined : await ask(new SuperNodeById({ operator: id }));
  if (!node) throw new AppError('NOT_FOUND', 'There is no SuperNode of this operator address on the chain’s list.');
  return node;
}

/** A SuperNode as the metrics show it; `rankOf` holds those that have a rank. */
export function metricsOf(
  node: FleetNode,
  rankOf: ReadonlyMap<string, number>,
): Static<typeof superNodeMetrics.schema> {
  return {
    id: node.id,
    ip: displayHost(node.address),
    status: node.available ? 'available' : 'unavailable',
    rank: rankOf.get(node.id) ?? null,
    version: node.version,
    registered_services: [...node.services],
    peer_count: node.peer_count,
    cpu_cores: node.cpu_cores,
    cpu_usage_percent: node.cpu_usage_percent,
    memory_total_gb: node.memory_total_gb,
    memory_used_gb: node.memory_used_gb,
    storage_total_gb: node.storage_total_gb,
    storage_used_gb: node.storage_used_gb,
    failed_probe_counter: node.failed_probe_counter,
    current_state: node.state,
    last_seen_at: node.last_seen_at,
    probed_at: node.probed_at,
  };
}
