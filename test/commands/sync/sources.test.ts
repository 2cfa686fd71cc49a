import { describe, expect, it } from 'vitest';
import { type CompleteRound, type KnownSource, syncing } from '../../../src/commands/sync/sources.ts';

const learned = { cursor: 50, openActions: { entries: '9:3' }, unread: ['4'], lastAction: '9' };
const round = (changes: Partial<CompleteRound> = {}): CompleteRound => ({
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

/** What is known after a fact that lies in the log under an id and a sequence. */
function knownAfter(facts: ReturnType<typeof syncing.decide>, recorded = { id: 'id1', sequence: 17 }): KnownSource {
  const last = facts.at(-1);
  if (!last) throw new Error('nothing was decided');
  return syncing.after(last, recorded);
}

describe('syncing', () => {
  it('hands all that a round learned on to the next one, through failures too', () => {
    const completed = knownAfter(syncing.decide(round(), syncing.initialState));
    expect(completed).toEqual({
      ...learned,
      chainId: 'chain-1',
      completedHeight: 50,
      completedAt: 't2',
      endedRound: 't1',
    });
    expect(knownAfter(syncing.decide(failed, completed))).toEqual({ ...completed, endedRound: 't3' });
  });

  it('decides nothing on a round that another one has overtaken', () => {
    const completed = knownAfter(syncing.decide(round(), syncing.initialState));
    expect(syncing.decide(round({ at: 't5' }), completed)).toEqual([]);
    expect(syncing.decide(round({ at: 't5', after: 't2' }), completed)).toHaveLength(1);
  });

  it('ends a round once, whatever was written between its end and the repetition of it', () => {
    const completed = knownAfter(syncing.decide(round(), syncing.initialState));
    expect(syncing.decide({ ...failed, startedAt: 't1' }, completed), 'it completed').toEqual([]);
    const requested = knownAfter(
      syncing.decide({ type: 'RequestSync', at: 't5' }, knownAfter(syncing.decide(failed, completed))),
    );
    expect(syncing.decide({ ...failed, at: 't6' }, requested), 'it failed').toEqual([]);
    expect(syncing.decide({ ...failed, startedAt: 't6' }, requested), 'another one').toHaveLength(1);
  });

  it('records the id of the chain once', () => {
    const identify = { type: 'IdentifyChain', chainId: 'chain-1', height: 5, at: 't1' } as const;
    const identified = knownAfter(syncing.decide(identify, syncing.initialState));
    expect(identified.chainId).toBe('chain-1');
    expect(syncing.decide({ ...identify, chainId: 'chain-2' }, identified)).toEqual([]);
  });

  it('joins a request to one that is pending, which stays until the round that answers it completes', () => {
    const requested = knownAfter(syncing.decide({ type: 'RequestSync', at: 't1' }, syncing.initialState));
    expect(requested.request).toEqual({ id: 'id1', sequence: 17 });
    expect(syncing.decide({ type: 'RequestSync', at: 't2' }, requested)).toEqual([]);
    const still = knownAfter(syncing.decide(failed, requested), { id: 'id2', sequence: 18 });
    expect(still.request).toEqual({ id: 'id1', sequence: 17 });
    expect(knownAfter(syncing.decide(round(), still)).request).toEqual({ id: 'id1', sequence: 17 });
    expect(knownAfter(syncing.decide(round({ answers: 'id1' }), still)).request).toBeUndefined();
  });
});
