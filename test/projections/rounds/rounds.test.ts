import { describe, expect, it } from 'vitest';
import type { Fact } from '../../../src/events/catalogue.ts';
import { syncRounds } from '../../../src/projections/rounds/rounds.ts';
import type { RoundRow } from '../../../src/projections/tables.ts';
import { handlersOf } from '../../support/histories/load-projection.ts';

const onSyncRounds = handlersOf(syncRounds);

const at = '2026-01-02T00:00:00Z';
const source = 'supernodes';
const known = { chainId: 'chain-1', cursor: 40, unread: [] };

const completed: Fact<'SyncRoundCompleted'>['data'] = {
  source,
  startedAt: at,
  at,
  height: 44,
  blockTime: '2026-01-01T23:59:58Z',
  requests: 3,
  facts: 2,
  skipped: [{ record: 'op', reason: 'no state' }],
  known: { ...known, cursor: 44, completedHeight: 44, completedAt: at, minimumVersion: '2.0.0' },
};
const failed: Fact<'SyncRoundFailed'>['data'] = {
  source,
  startedAt: at,
  at,
  reason: 'unreachable',
  message: 'No answer',
  known,
};
const after = (row: ReturnType<typeof onSyncRounds.SyncRoundFailed>) => row ?? undefined;

describe('rounds', () => {
  it('holds the chain in a row of its own, and never another one', () => {
    const identified = { source: 'chain', chainId: 'chain-1', at, height: 1 };
    const row = onSyncRounds.ChainIdentified(undefined, identified);
    expect(row).toMatchObject({ source: 'chain', chain_id: 'chain-1', completed_at: null });
    expect(() => onSyncRounds.ChainIdentified(after(row), { ...identified, chainId: 'chain-2' })).toThrow(
      'Cannot follow chain chain-2',
    );
  });

  it('clears a failure with the next completed round', () => {
    const first = onSyncRounds.SyncRoundFailed(undefined, failed);
    expect(first).toMatchObject({
      failed_at: at,
      failed_reason: 'unreachable',
      completed_at: null,
      chain_id: 'chain-1',
    });
    expect(onSyncRounds.SyncRoundCompleted(after(first), completed)).toEqual({
      source,
      chain_id: 'chain-1',
      completed_at: at,
      completed_height: 44,
      completed_block_time: '2026-01-01T23:59:58Z',
      cursor: 44,
      requests: 3,
      facts: 2,
      skipped: [{ record: 'op', reason: 'no state' }],
      failed_at: null,
      failed_reason: null,
      failed_message: null,
      minimum_version: '2.0.0',
      requested_at: null,
    });
  });

  it('keeps the completed round beside a later failure', () => {
    const row = onSyncRounds.SyncRoundFailed(after(onSyncRounds.SyncRoundCompleted(undefined, completed)), failed);
    expect(row).toMatchObject({
      completed_at: at,
      completed_height: 44,
      failed_message: 'No answer',
      minimum_version: '2.0.0',
    });
  });

  it('needs no earlier facts: a failure carries the last completed round', () => {
    const carrying = { ...failed, known: { ...known, completedHeight: 30, completedAt: at } };
    expect(onSyncRounds.SyncRoundFailed(undefined, carrying)).toMatchObject({
      completed_height: 30,
      completed_at: at,
    });
  });

  it('is the same when a later failure is all that is left of the log', () => {
    const requested = { source, at, known: completed.known };
    const { blockTime, requests, facts, skipped } = completed;
    const completedRound = { blockTime, requests, facts, skipped };
    const request = { id: 'r', sequence: 8, askedAt: at };
    const last = { ...failed, known: { ...completed.known, completedRound, request } };
    const whole = [
      (row?: RoundRow) => onSyncRounds.SyncRoundCompleted(row, completed),
      (row?: RoundRow) => onSyncRounds.SyncRequested(row, requested),
      (row?: RoundRow) => onSyncRounds.SyncRoundFailed(row, last),
    ].reduce<RoundRow | undefined>((row, next) => after(next(row)), undefined);
    expect(onSyncRounds.SyncRoundFailed(undefined, last)).toEqual(whole);
    expect(whole).toMatchObject({ requests: 3, facts: 2, requested_at: at, completed_block_time: blockTime });
  });

  it('shows a request until a completed round has answered it', () => {
    const pending = { ...known, request: { id: 'r', sequence: 8 } };
    const requested = onSyncRounds.SyncRequested(undefined, { source, at, known });
    expect(requested).toMatchObject({ requested_at: at });
    const stillPending = onSyncRounds.SyncRoundFailed(after(requested), { ...failed, known: pending });
    expect(stillPending).toMatchObject({ requested_at: at });
    expect(onSyncRounds.SyncRoundCompleted(after(stillPending), completed)).toMatchObject({ requested_at: null });
  });
});
