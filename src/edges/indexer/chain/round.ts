import { type AppError, toAppError } from '../../../commands/errors.ts';
import { handle } from '../../../commands/handle.ts';
import type { Cause, FactLog, Recorded } from '../../../commands/ports.ts';
import {
  chainEntity,
  type CompleteRound,
  type FailureReason,
  type KnownSource,
  type Source,
  type SourceCommand,
  syncing,
} from '../../../commands/sync/sources.ts';
import type { Kind } from '../../../events/streams.ts';
import type { ChainClient, ChainSession } from './client.ts';
import { ChainFailure } from './failure.ts';
import { type ChainHead, readHead } from './head.ts';
import type { NetworkProfile } from './profile.ts';
import type { Report } from './progress.ts';

/** What sync needs of the log. */
export type SyncLog = FactLog &
  Readonly<{
    lastOfAll: (kind: Kind) => Promise<ReadonlyMap<string, Recorded>>;
    watch: (kinds: readonly Kind[], onFact: (kind: Kind, entity: string) => void) => () => void;
  }>;

/** What a round works with. */
export type RoundContext = Readonly<{
  session: ChainSession;
  profile: NetworkProfile;
  log: SyncLog;
  head: ChainHead;
  known: KnownSource;
  cause: Cause;
  report: Report;
}>;

/** What a round came to, once all its facts are in the log. */
export type RoundOutcome = Pick<CompleteRound, 'facts' | 'skipped'> &
  Readonly<{ learned: Omit<CompleteRound['learned'], 'cursor'> & { cursor?: number } }>;

/** How a round ended; `failure` and `error` where it failed. */
export type RoundEnd = Readonly<{
  facts: number;
  requests: number;
  height?: number;
  failure?: FailureReason;
  error?: AppError;
  /** How long the chain asks to be left alone. */
  retryAfterMs?: number | undefined;
}>;

/** One round of a source: how it is read, and whether somebody has asked for it. */
export type Round = Readonly<{
  source: Source;
  client: ChainClient;
  profile: NetworkProfile;
  log: SyncLog;
  signal: AbortSignal;
  /** Id of the pending request that this round answers. */
  request?: string | undefined;
  report: Report;
  read: (context: RoundContext) => Promise<RoundOutcome>;
}>;

const mostSkipped = 20;

/**
 * Runs one round and records how it ended.
 *
 * The head is read first; a chain with another id or below what is known is not followed and nothing is recorded from it. The
 * round's own fact follows the acknowledgement of all others, so a round that is cut off is gone over again.
 * Fails only where not even a failure can be recorded, or the signal aborts.
 */
export async function runRound(round: Round): Promise<RoundEnd> {
  const { source, client, profile, log, signal, request, report } = round;
  const session = client.session(signal);
  const startedAt = now();
  try {
    const known = await knownOf(log, source);
    const answers = request ?? known.request?.id;
    const head = await readHead(session);
    await checkChain(log, head, known);
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
    const command: CompleteRound = {
      type: 'CompleteRound',
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
    await record(log, source, command, causeOf(answers));
    return { facts, requests: session.requests(), height };
  } catch (caught) {
    signal.throwIfAborted();
    const { reason, message } = failureOf(caught);
    await record(log, source, { type: 'FailRound', source, startedAt, at: now(), reason, message }, causeOf(request));
    const retryAfterMs = caught instanceof ChainFailure ? caught.retryAfterMs : undefined;
    return { facts: 0, requests: session.requests(), failure: reason, error: toAppError(caught), retryAfterMs };
  }
}

function causeOf(request: string | undefined): Cause {
  return { at: now(), ...(request === undefined ? {} : { causation: request, correlation: request }) };
}

/** What the last fact of a source tells the next round. */
export async function knownOf(log: FactLog, source: string): Promise<KnownSource> {
  const last = (await log.last('sync', [source])).get(source);
  return last && syncing.isOwn(last.fact) ? syncing.after(last.fact, last) : syncing.initialState;
}

async function checkChain(log: FactLog, { chainId, height }: ChainHead, known: KnownSource): Promise<void> {
  let identified = (await knownOf(log, chainEntity)).chainId;
  if (identified === '') {
    await record(log, chainEntity, { type: 'IdentifyChain', chainId, height, at: now() }, { at: now() });
    identified = (await knownOf(log, chainEntity)).chainId;
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

async function record(log: FactLog, entity: string, command: SourceCommand, cause: Cause): Promise<void> {
  await handle(log, syncing, new Map([[entity, command]]), cause);
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
