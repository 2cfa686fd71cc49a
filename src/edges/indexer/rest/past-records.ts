import { LRUCache } from 'lru-cache';
import { AppError } from '../../../kit/errors.ts';
import { cleanRow, foldingOf, type Row } from '../../../engine/models/engine/folding.ts';
import type { Recorded } from '../../../commands/ports.ts';
import { sources } from '../../../events/words.ts';
import type { AnyProjection } from '../../../projections/all.ts';
import { availability } from '../../../projections/fleet/availability.ts';
import { NodesToRank } from '../../../projections/fleet/queries.ts';
import type { Reading, ReadingAt } from '../../../projections/reading.ts';
import { syncRounds } from '../../../projections/rounds/rounds.ts';
import type { AvailabilityRow, RoundRow } from '../../../projections/tables.ts';
import { runQuery } from '../../bus.ts';
import type { PastLog } from './as-of.ts';

/** Rows of read models that keep no superseded ones: the last fact of each entity carries on what was known. */
export type PastRecords = Readonly<{
  /** The results of the probes of all SuperNodes that were listed then; `FORGOTTEN` where they are not kept. */
  availability: (reading: Reading, at: ReadingAt) => Promise<readonly AvailabilityRow[]>;
  /** The rounds of all sources as they were then. */
  rounds: (at: ReadingAt) => Promise<readonly RoundRow[]>;
}>;

const instantsCached = 16;

/** Reads them from the log; the last few instants are cached. */
export function createPastRecords(past: Pick<PastLog, 'lastAsOf' | 'hasForgotten'>): PastRecords {
  const cache = new LRUCache<string, Promise<readonly Row[]>>({ max: instantsCached });
  const cached = async (key: unknown, make: () => Promise<readonly Row[]>): Promise<readonly Row[]> => {
    const text = JSON.stringify(key);
    const rows = cache.get(text) ?? make();
    cache.set(text, rows);
    try {
      return await rows;
    } catch (caught) {
      cache.delete(text);
      throw caught;
    }
  };
  return {
    availability: async (reading, at) => {
      const { NODES: nodesAt = 0, PROBES: upTo = 0 } = at.positions;
      const rows = await cached(['availability', nodesAt, upTo], async () => {
        const nodes = (await runQuery({ ...reading, at }, new NodesToRank({}))).map(({ operator }) => operator);
        const probes = await past.lastAsOf('probe', nodes, upTo);
        if (nodes.some((node) => !probes.has(node)) && (await past.hasForgotten('PROBES')))
          throw new AppError('FORGOTTEN', 'What probes of that time found is not kept any more.');
        return [...probes.values()].flatMap((probe) => rowsOf(availability, probe));
      });
      return rows as readonly object[] as readonly AvailabilityRow[];
    },
    rounds: async ({ positions: { SYNC: upTo = 0 } }) => {
      const rows = await cached(['rounds', upTo], async () =>
        [...(await past.lastAsOf('sync', sources, upTo)).values()].flatMap((round) => rowsOf(syncRounds, round)),
      );
      return rows as readonly object[] as readonly RoundRow[];
    },
  };
}

/** The rows that a fact makes where nothing was known before it. */
export function rowsOf(projection: AnyProjection, { fact }: Recorded): Row[] {
  return foldingOf(projection)
    .touches(fact)
    .flatMap(({ next }) => {
      const row = next(undefined);
      return row ? [cleanRow(row, undefined)] : [];
    });
}
