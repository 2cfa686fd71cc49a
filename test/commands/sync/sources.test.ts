import { describe, expect, it } from 'vitest';
import { type RoundCompletion, type SourceCommand, syncing } from '../../../src/commands/sync/sources.ts';
import { given } from '../../support/histories/given.ts';

const learned = { cursor: 50, openActions: { entries: '9:3' }, unread: ['4'], lastAction: '9' };
const round = (changes: Partial<RoundCompletion> = {}): RoundCompletion => ({
  type: 'CompleteRound',
  source: 'supernodes',
  startedAt: 't1',
  at: 't2',
  height: 50,
  blockTime: 'b50',
  requests: 5,
  facts: 0,
  skipped: [],
  after: undefined,
  chainId: 'chain-1',
  learned,
  answers: undefined,
  ...changes,
});
const failed = {
  type: 'FailRound',
  source: 'supernodes',
  startedAt: 't3',
  at: 't4',
  reason: 'unreachable',
  message: 'no answer',
} as const;

const request = (at: string) => ({ type: 'RequestSync', at }) as const;
const when = (...commands: SourceCommand[]) => given(syncing).when(...commands);

describe('syncing', () => {
  it('hands all that a round learned on to the next one, through failures too', () => {
    const completed = when(round()).state;
    expect(completed).toEqual({
      ...learned,
      chainId: 'chain-1',
      completedHeight: 50,
      completedAt: 't2',
      endedRound: 't1',
      completedRound: { blockTime: 'b50', requests: 5, facts: 0, skipped: [] },
    });
    expect(when(round(), failed).state).toEqual({ ...completed, endedRound: 't3' });
  });

  it('decides nothing on a round that another one has overtaken', () => {
    when(round(), round({ at: 't5' })).emits([]);
    when(round(), round({ at: 't5', after: 't2' })).emits([{ type: 'SyncRoundCompleted' }]);
  });

  it('ends a round once, whatever was written between its end and the repetition of it', () => {
    when(round(), { ...failed, startedAt: 't1' }).emits([]);
    when(round(), failed, request('t5'), { ...failed, at: 't6' }).emits([]);
    when(round(), failed, request('t5'), { ...failed, startedAt: 't6' }).emits([{ type: 'SyncRoundFailed' }]);
  });

  it('records the id of the chain once', () => {
    const identify = { type: 'IdentifyChain', chainId: 'chain-1', height: 5, at: 't1' } as const;
    expect(when(identify).state.chainId).toBe('chain-1');
    when(identify, { ...identify, chainId: 'chain-2' }).emits([]);
  });

  it('joins a request to one that is pending, which stays until the round that answers it completes', () => {
    const pending = { id: 'id1', sequence: 1, askedAt: 't1' };
    expect(when(request('t1')).state.request).toEqual(pending);
    when(request('t1'), request('t2')).emits([]);
    expect(when(request('t1'), failed).state.request).toEqual(pending);
    expect(when(request('t1'), failed, round()).state.request).toEqual(pending);
    expect(when(request('t1'), failed, round({ answers: 'id1' })).state.request).toBeUndefined();
  });
});
