import { LRUCache } from 'lru-cache';
import type { FactOf } from '../../../events/catalogue.ts';
import { AppError } from '../../../kit/errors.ts';
import { createSlots } from '../../../kit/slots.ts';
import { type NodeAtHeight, nodeAtHeight } from '../../../projections/fleet/nodes-at-height.ts';
import { EveryNode } from '../../../projections/fleet/queries.ts';
import { eventsUpTo, positionIn } from '../provenance/explained.ts';
import type { RestDependencies } from '../rest/dependencies.ts';
import type { ReadSnapshot } from '../rest/reads.ts';
import { requireRead } from './at-height.ts';

type Sources = Pick<RestDependencies, 'events' | 'past' | 'reader' | 'signal'>;
type History = readonly FactOf<'node'>[];

/** The SuperNodes that were on the chain's list at a height, ordered by id bytewise. */
export type NodesAtHeight = (snapshot: ReadSnapshot, height: number) => Promise<readonly NodeAtHeight[]>;

const mostAtOnce = 16;
const positionsCached = 4;

/**
 * Reads the SuperNodes of a height from the events of each, whose histories are cached until one of them changes.
 *
 * Fails with `BEYOND_HEAD` where the list was not read up to that height, with `HEIGHT_UNKNOWN` where its records do
 * not tell whether a SuperNode was listed.
 */
export function createNodesAtHeight(sources: Sources): NodesAtHeight {
  const slots = createSlots(mostAtOnce, 'A read of events');
  const cache = new LRUCache<string, Promise<readonly History[]>>({ max: positionsCached });
  const historiesOf = async (snapshot: ReadSnapshot, position: number): Promise<readonly History[]> => {
    const ids = await snapshot.ask(new EveryNode({}));
    return await Promise.all(
      ids.map((id) =>
        slots.run(async () => {
          const record = { of: 'supernodes', stream: 'NODES', kind: 'node', id } as const;
          const events = await eventsUpTo(sources, record, position);
          return events.map(({ fact }) => fact as FactOf<'node'>);
        }, sources.signal),
      ),
    );
  };
  return async (snapshot, height) => {
    requireRead(snapshot, ['supernodes'], height);
    const position = positionIn(snapshot.reading, 'supernodes');
    const of = JSON.stringify([snapshot.reading.schemas.supernodes, position]);
    const histories = cache.get(of) ?? historiesOf(snapshot, position);
    cache.set(of, histories);
    const all = await histories.catch((caught: unknown) => {
      cache.delete(of);
      throw caught;
    });
    const nodes = all.filter((facts) => facts.length > 0).map((facts) => nodeAtHeight(facts, height));
    if (nodes.includes(undefined)) throw untold('whether a SuperNode was listed');
    return nodes.filter((node) => node !== null && node !== undefined);
  };
}

/** What was asked for is not in the chain's records of that height. */
export const untold = (what: string): AppError =>
  new AppError('HEIGHT_UNKNOWN', `The records of the chain do not tell ${what} at that height.`);
