import type { Fact, FactOf } from '../../events/catalogue.ts';
import type { Source } from '../../events/words.ts';
import type { Decider } from '../decider.ts';

/** The entity that the chain's id is recorded under, beside the sources. */
export const chainEntity = 'chain';

type Completed = Fact<'SyncRoundCompleted'>['data'];

/** All that the next round of a source needs. */
export type KnownSource = Completed['known'];

/** Why a round ended early. */
export type FailureReason = 'unreachable' | 'wrong_chain' | 'chain_behind' | 'bad_answer' | 'pruned' | 'internal';

/** The first contact with a chain. */
export type ChainMet = Readonly<{ type: 'IdentifyChain'; chainId: string; height: number; at: string }>;

/** Every fact of a round is in the log: this is its result, and what it learned for the next one. */
export type RoundCompletion = Readonly<
  { type: 'CompleteRound'; source: Source } & Pick<
    Completed,
    'startedAt' | 'at' | 'height' | 'blockTime' | 'requests' | 'facts' | 'skipped'
  > & {
      /**
       * When the last completed round ended, as the round knew it at its start: a later one by another process makes
       * this one void.
       */
      after: string | undefined;
      chainId: string;
      learned: Pick<
        KnownSource,
        'cursor' | 'openActions' | 'lastAction' | 'lowestHeight' | 'minimumVersion' | 'unread'
      >;
      /** Id of the request that was pending when the round started. */
      answers: string | undefined;
    }
>;

/** A round ended early. */
export type RoundFailure = Readonly<{
  type: 'FailRound';
  source: Source;
  startedAt: string;
  at: string;
  reason: FailureReason;
  message: string;
}>;

/** A request to read SuperNodes and validators at once. */
type SyncWish = Readonly<{ type: 'RequestSync'; at: string }>;

/** Everything that can be recorded of a source. */
export type SourceCommand = ChainMet | RoundCompletion | RoundFailure | SyncWish;
type SourceFact = FactOf<'sync'>;

const nothingKnown: KnownSource = { chainId: '', cursor: 0, unread: [] };

/**
 * Rounds of the sources, what each knows for its next one, and the id of the chain (DESIGN section 4).
 *
 * The chain's id is recorded once. A round ends once: one that is in the log, though its acknowledgement was lost, has
 * not failed, nor failed twice. A pending request stays through failed rounds and goes with the completed round that
 * answers it; while one is pending, another is joined to it and decides nothing.
 */
export const syncing: Decider<SourceCommand, KnownSource, 'sync'> = {
  kind: 'sync',
  initialState: nothingKnown,
  after(fact, recorded) {
    switch (fact.type) {
      case 'ChainIdentified':
        return { ...nothingKnown, chainId: fact.data.chainId, cursor: fact.data.height };
      case 'SyncRequested':
        return recorded
          ? { ...fact.data.known, request: { id: recorded.id, sequence: recorded.sequence, askedAt: fact.data.at } }
          : fact.data.known;
      case 'SyncRoundCompleted':
      case 'SyncRoundFailed':
        return fact.data.known;
    }
  },
  decide(command, known) {
    switch (command.type) {
      case 'IdentifyChain':
        return known.chainId === '' ? [identified(command)] : [];
      case 'CompleteRound':
        return command.after === known.completedAt ? [completed(command, known)] : [];
      case 'FailRound':
        return command.startedAt === known.endedRound ? [] : [failed(command, known)];
      case 'RequestSync':
        return known.request ? [] : [{ type: 'SyncRequested', data: { source: 'supernodes', at: command.at, known } }];
    }
  },
};

function identified({ chainId, height, at }: ChainMet): SourceFact {
  return { type: 'ChainIdentified', data: { source: chainEntity, chainId, at, height } };
}

function failed({ source, startedAt, at, reason, message }: RoundFailure, known: KnownSource): SourceFact {
  return {
    type: 'SyncRoundFailed',
    data: { source, startedAt, at, reason, message, known: { ...known, endedRound: startedAt } },
  };
}

function completed(command: RoundCompletion, known: KnownSource): SourceFact {
  const { source, startedAt, at, height, blockTime, requests, facts, skipped, chainId, learned, answers } = command;
  const { request } = known;
  const next: KnownSource = {
    ...learned,
    chainId,
    completedHeight: height,
    completedAt: at,
    endedRound: startedAt,
    completedRound: { blockTime, requests, facts, skipped },
    ...(request === undefined || request.id === answers ? {} : { request }),
  };
  return {
    type: 'SyncRoundCompleted',
    data: { source, startedAt, at, height, blockTime, requests, facts, skipped, known: next },
  };
}
