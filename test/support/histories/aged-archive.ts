import type { NatsConnection } from '@nats-io/transport-node';
import { type BothStores, bothStoresOf } from '../../../src/engine/archive/archive.ts';
import { chained } from '../../../src/engine/archive/chain.ts';
import { restoreStream } from '../../../src/engine/archive/restore.ts';
import { encode } from '../../../src/engine/log/envelope.ts';
import { ensureStreams } from '../../../src/engine/log/streams.ts';
import { migrate } from '../../../src/engine/models/migrate.ts';
import type { Pools } from '../../../src/engine/models/pool.ts';
import type { Fact } from '../../../src/events/catalogue.ts';
import type { StreamPolicies } from '../../../src/events/streams.ts';

/** How old an archive of probes is: so many of each node. */
export type Age = Readonly<{ nodes: number; probes: number }>;

const stream = 'PROBES';
const atOnce = 2000;
const at = '2026-01-01T00:00:00.000Z';

/** Both stores of a network with nothing in them yet. */
export async function freshStores(
  nc: NatsConnection,
  { network, pools, policies }: Readonly<{ network: string; pools: Pools; policies: StreamPolicies }>,
): Promise<BothStores> {
  await migrate({ pools, network });
  await ensureStreams(nc, network, { policies });
  return bothStoresOf(nc, { network, pools, policies });
}

/**
 * Fills an empty archive of probes as the log would have done, then makes the stream from it: that keeps what its
 * policy says.
 */
export async function agedArchive(stores: BothStores, { nodes, probes }: Age): Promise<void> {
  const { store, network } = stores;
  let head = await store.lead(stream);
  const total = nodes * probes;
  for (let after = 0; after < total; after += atOnce) {
    const events = Array.from({ length: Math.min(atOnce, total - after) }, (_, index) => {
      const sequence = after + index + 1;
      const { id, subject, bytes } = encode(probe(`n${sequence % nodes}`, sequence), { network, cause: { at } });
      return { sequence, subject, id, body: bytes, storedNanos: `${BigInt(Date.parse(at)) * 1_000_000n}` };
    });
    const links = chained(stream, events, head.hash);
    const last = links.at(-1);
    if (!last || !(await store.extend(head, links))) throw new Error('the archive took nothing in');
    head = { ...head, position: last.sequence, hash: last.hash };
  }
  const { incarnation } = await restoreStream(stores, { stream, position: head.position, incarnation: undefined });
  await store.moveHead({ ...head, incarnation });
}

function probe(node: string, tookMs: number): Fact<'ProbeFailed'> {
  const known = { consecutiveFailures: 1, services: [] };
  return { type: 'ProbeFailed', data: { node, at, ports: [], tookMs, statusAnswer: 'not_asked', known } };
}
