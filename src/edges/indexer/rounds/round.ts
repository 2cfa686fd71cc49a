import { type AppError, toAppError } from '../../../kit/errors.ts';
import { span } from '../../../kit/tracing/tracing.ts';
import { knownFrom } from '../../../commands/handle.ts';
import type { Cause, FactLog, Recorded } from '../../../commands/ports.ts';
import { CompleteRound, FailRound, IdentifyChain } from '../../../commands/sync/round-commands.ts';
import {
  chainEntity,
  type FailureReason,
  type KnownSource,
  type RoundCompletion,
  syncing,
} from '../../../commands/sync/sources.ts';
import type { Kind } from '../../../events/streams.ts';
import type { Source } from '../../../events/words.ts';
import { dispatch } from '../../bus.ts';
import { type ChainClient, type ChainHead, type ChainSession, readHead } from '../../chain/rest/client.ts';
import { ChainFailure } from '../../chain/rest/failure.ts';
import type { NetworkProfile } from '../../chain/rest/profile.ts';

/** What sync needs of the log. */
export type SyncLog = FactLog &
  Readonly<{
    lastOfAll: (kind: Kind) => Promise<ReadonlyMap<string, Recorded>>;
    watch: (kinds: readonly Kind[], onFact: (kind: Kind, entity: string) => void) => () => void;
  }>;

/** The parts that a round works with. */
export type RoundContext = Readonly<{
  session: ChainSession;
  profile: NetworkProfile;
  log: SyncLog;
  head: ChainHead;
  known: KnownSource;
  cause: Cause;
  report: ReportProgress;
}>;

/** The result of a round, once all its facts are in the log. */
export type RoundOutcome = Pick<RoundCompletion, 'facts' | 'skipped'> &
  Readonly<{ learned: Omit<RoundCompletion['learned'], 'cursor'> & { cursor?: number } }>;

/** How a round ended; `failure` and `error` where it failed. */
export type RoundEnd = Readonly<{
  facts: number;
  requests: number;
  height?: number;
  failure?: FailureReason;
  error?: AppError;
  /** How long the chain requests the client to wait. */
  retryAfterMs?: number | undefined;
}>;

/** One round of a source: the means to read it, and the request that it answers. */
export type Round = Readonly<{
  source: Source;
  client: ChainClient;
  profile: NetworkProfile;
  log: SyncLog;
  signal: AbortSignal;
  /** Id of the pending request that this round answers. */
  request?: string | undefined;
  report: ReportProgress;
  read: (context: RoundContext) => Promise<RoundOutcome>;
}>;

const mostSkipped = 20;

/**
 * Runs one round and records how it ended.
 *
 * The head is read first; a chain with another id or below what is known is not followed and nothing is recorded from
 * it. The round's own fact follows the acknowledgement of all others, so a round that is cut off is gone over again.
 * Fails only where not even a failure can be recorded, or the signal aborts.
 */
export async function runRound(round: Round): Promise<RoundEnd> {
  return await span(`sync ${round.source}`, { parents: [] }, async (opened) => {
    const end = await readRound(round);
    opened.set({ 'annals.facts': end.facts, 'annals.requests': end.requests, 'annals.height': end.height });
    if (end.failure !== undefined) opened.fail(end.failure);
    return end;
  });
}

async function readRound(round: Round): Promise<RoundEnd> {
  const { source, client, profile, log, signal, request, report } = round;
  const session = client.session(signal);
  const startedAt = now();
  try {
    const knownAs = await knownOf(log, source, chainEntity);
    const known = knownAs(source);
    const answers = request ?? known.request?.id;
    const head = await readHead(session);
    await checkChain(log, head, { known, identified: knownAs(chainEntity).chainId });
    const { facts, skipped, learned } = await round.read({
      session,
      profile,
      log,
      head,
      known,
      cause: causeOf(answers),
      report,
    });
    signal.throwIfAborted();
    const { chainId, height, time: blockTime } = head;
    const completion = {
      source,
      startedAt,
      at: now(),
      height,
      blockTime,
      chainId,
      requests: session.requests(),
      facts,
      skipped: skipped.slice(0, mostSkipped),
      after: known.completedAt,
      learned: { ...learned, cursor: Math.max(learned.cursor ?? height, known.cursor) },
      answers,
    };
    await dispatch(log, new CompleteRound(completion, causeOf(answers)));
    return { facts, requests: session.requests(), height };
  } catch (caught) {
    signal.throwIfAborted();
    const { reason, message } = failureOf(caught);
    await dispatch(log, new FailRound({ source, startedAt, at: now(), reason, message }, causeOf(request)));
    const retryAfterMs = caught instanceof ChainFailure ? caught.retryAfterMs : undefined;
    return { facts: 0, requests: session.requests(), failure: reason, error: toAppError(caught), retryAfterMs };
  }
}

function causeOf(request: string | undefined): Cause {
  return { at: now(), causation: request, correlation: request };
}

/** The state that the last facts of sources hand to the next round, by one read. */
export async function knownOf(log: FactLog, ...entities: string[]): Promise<(entity: string) => KnownSource> {
  const last = await log.last('sync', entities);
  return (entity) => knownFrom(syncing, entity, last.get(entity)).state;
}

/** The chain's id is recorded at the first contact; every later round has to meet the same one. */
async function checkChain(
  log: FactLog,
  { chainId, height }: ChainHead,
  { known, identified: before }: { known: KnownSource; identified: string },
): Promise<void> {
  let identified = before;
  if (identified === '') {
    const at = now();
    const { states } = await dispatch(log, new IdentifyChain({ chainId, height, at }, { at }));
    identified = states.get(chainEntity)?.state.chainId ?? '';
  }
  if (chainId !== identified) {
    throw new ChainFailure(
      'wrong_chain',
      `The chain calls itself ${chainId}, but this network’s log is of ${identified}: point it at the right chain, or use another NETWORK`,
    );
  }
  const reached = Math.max(known.cursor, known.completedHeight ?? 0);
  if (height < reached)
    throw new ChainFailure(
      'chain_behind',
      `The chain is at height ${height}, but ${reached} was read before: its node is behind, or was set back`,
    );
}

function failureOf(caught: unknown): { reason: FailureReason; message: string } {
  const error = toAppError(caught);
  if (error instanceof ChainFailure) return error;
  if (error.code === 'UNAVAILABLE' || error.code === 'CONFLICT')
    return {
      reason: 'internal',
      message: 'The log did not take what the round found; the next round goes over it again',
    };
  return { reason: 'internal', message: 'The round broke off for a reason of our own; the program’s log says which' };
}

function now(): string {
  return new Date().toISOString();
}

/** How far a long round has come. */
export type RoundProgress = Readonly<{
  source: Source;
  /** First the transactions are searched by height, then the records are read. */
  phase: 'searching' | 'reading';
  /** Everything up to here has been searched. */
  height: number;
  head: number;
  /** Records read so far. */
  records: number;
}>;

/** Reports how far a round has come. */
export type ReportProgress = (progress: RoundProgress) => void;

const quietMs = 2_000;
const betweenMs = 500;

/** A report that stays silent for the first 2 s and then passes on at most two a second. */
export function throttled(onProgress: ReportProgress): ReportProgress {
  let next = performance.now() + quietMs;
  return (progress) => {
    const at = performance.now();
    if (at < next) return;
    next = at + betweenMs;
    onProgress(progress);
  };
}
