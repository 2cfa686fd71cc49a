import { createEventPages } from '../engine/archive/event-pages.ts';
import { createEventLinks } from '../engine/archive/event-links.ts';
import { createEventReads } from '../engine/archive/event-reads.ts';
import { createInstants } from '../engine/archive/instants.ts';
import { createProvenLogs } from '../engine/archive/proof/serving.ts';
import type { RestDependencies } from '../edges/indexer/rest/dependencies.ts';
import type { RoleContext } from './role.ts';

/** What the indexing API reads of the log and its archive: the past, proofs, and events as they are stored. */
export function pastReads({
  network,
  pools,
  broker: { connection, log },
}: RoleContext): Pick<RestDependencies, 'past' | 'events' | 'links' | 'logs' | 'eventSource'> {
  return {
    past: { ...createInstants({ pools, network, head: log.head }), ...log },
    events: createEventReads({ pools, network, log }),
    links: createEventLinks({ pools, network }),
    logs: createProvenLogs({ pools, network }),
    eventSource: { after: createEventPages({ nc: connection, pools, network }), watch: log.watch },
  };
}
