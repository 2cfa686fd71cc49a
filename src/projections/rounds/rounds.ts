import type { Fact } from '../../events/catalogue.ts';
import { defineProjection } from '../projection.ts';
import type { Reading } from '../reading.ts';
import type { RoundRow } from '../tables.ts';
import { roundTable } from './round-table.ts';

type Known = Fact<'SyncRoundFailed'>['data']['known'];

/**
 * How far each source of sync has come, and the chain it follows. Facts carry on what is known, so earlier ones may be
 * gone.
 */
export const syncRounds = defineProjection({
  name: 'rounds',
  version: 3,
  stream: 'SYNC',
  table: roundTable,
  derivedTables: [],
  on: {
    ChainIdentified: (data) => [{ key: data.source, next: (row) => identified(row, data) }],
    SyncRequested: ({ source, at, known }) => [
      { key: source, next: (row) => ({ ...carried(row, source, known), requested_at: at }) },
    ],
    SyncRoundCompleted: (data) => [{ key: data.source, next: (row) => completed(row, data) }],
    SyncRoundFailed: ({ source, at, reason, message, known }) => [
      {
        key: source,
        next: (row) => ({
          ...carried(row, source, known),
          failed_at: at,
          failed_reason: reason,
          failed_message: message,
        }),
      },
    ],
  },
});

function identified(row: RoundRow | undefined, { source, chainId }: Fact<'ChainIdentified'>['data']): RoundRow {
  if (row && row.chain_id !== chainId)
    throw new Error(`Cannot follow chain ${chainId}: the log is that of ${row.chain_id}`);
  return { ...nothingKnown(source), chain_id: chainId };
}

function completed(row: RoundRow | undefined, data: Fact<'SyncRoundCompleted'>['data']): RoundRow {
  return {
    ...carried(row, data.source, data.known),
    completed_at: data.at,
    completed_height: data.height,
    completed_block_time: data.blockTime,
    requests: data.requests,
    facts: data.facts,
    skipped: data.skipped.map(({ record, reason }) => ({ record, reason })),
    failed_at: null,
    failed_reason: null,
    failed_message: null,
  };
}

/** Every source that has facts, and `chain`, by name. */
export async function rounds({ db, schemas }: Reading): Promise<RoundRow[]> {
  return db
    .withSchema(schemas.rounds)
    .selectFrom('rounds')
    .selectAll()
    .where('removed', '=', false)
    .orderBy('source')
    .execute();
}

/** A fact's account of the rounds before it, and the values that only the row still holds. */
function carried(row: RoundRow | undefined, source: string, known: Known): RoundRow {
  const { completedRound: last } = known;
  return {
    ...(row ?? nothingKnown(source)),
    chain_id: known.chainId || (row?.chain_id ?? null),
    cursor: known.cursor,
    completed_at: known.completedAt ?? row?.completed_at ?? null,
    completed_height: known.completedHeight ?? row?.completed_height ?? null,
    completed_block_time: last?.blockTime ?? row?.completed_block_time ?? null,
    requests: last?.requests ?? row?.requests ?? null,
    facts: last?.facts ?? row?.facts ?? null,
    skipped: last?.skipped.map(({ record, reason }) => ({ record, reason })) ?? row?.skipped ?? [],
    minimum_version: known.minimumVersion ?? row?.minimum_version ?? null,
    requested_at: known.request ? (known.request.askedAt ?? row?.requested_at ?? null) : null,
  };
}

function nothingKnown(source: string): RoundRow {
  return {
    source,
    chain_id: null,
    completed_at: null,
    completed_height: null,
    completed_block_time: null,
    cursor: 0,
    requests: null,
    facts: null,
    skipped: [],
    failed_at: null,
    failed_reason: null,
    failed_message: null,
    minimum_version: null,
    requested_at: null,
  };
}
