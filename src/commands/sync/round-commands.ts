import { Command } from '../decider.ts';
import type { Cause } from '../ports.ts';
import {
  chainEntity,
  type ChainMet,
  type KnownSource,
  type RoundCompletion,
  type RoundFailure,
  type SourceCommand,
} from './sources.ts';

type Of<C extends SourceCommand> = Omit<C, 'type'>;

/** Record which chain a network follows. */
export class IdentifyChain extends Command<SourceCommand, KnownSource> {
  constructor(met: Of<ChainMet>, cause: Cause) {
    super(new Map([[chainEntity, { type: 'IdentifyChain', ...met }]]), cause);
  }
}

/** Records the result of a source's round, and what it learned for the next one. */
export class CompleteRound extends Command<SourceCommand, KnownSource> {
  constructor(round: Of<RoundCompletion>, cause: Cause) {
    super(new Map([[round.source, { type: 'CompleteRound', ...round }]]), cause);
  }
}

/** Record that a round of a source ended early. */
export class FailRound extends Command<SourceCommand, KnownSource> {
  constructor(round: Of<RoundFailure>, cause: Cause) {
    super(new Map([[round.source, { type: 'FailRound', ...round }]]), cause);
  }
}

/** Requests an immediate round of SuperNodes and validators. */
export class RequestSync extends Command<SourceCommand, KnownSource> {
  constructor(cause: Cause) {
    super(new Map([['supernodes', { type: 'RequestSync', at: cause.at }]]), cause);
  }
}
