import { toAppError } from '../../../kit/errors.ts';
import { type Source, sources } from '../../../events/words.ts';
import { type Leasing, whileHeld } from '../../../engine/log/leases.ts';
import type { Logger } from '../../../kit/logger.ts';
import { readActions } from './actions-round.ts';
import { createChainClient } from '../../chain/rest/client.ts';
import { readSuperNodes, readValidators } from './nodes-round.ts';
import {
  knownOf,
  type ReportProgress,
  type RoundContext,
  type RoundEnd,
  type RoundOutcome,
  runRound,
  type SyncLog,
  throttled,
} from './round.ts';
import { wait } from '../../../kit/wait.ts';

/** What sync runs on. */
export type SyncOptions = Readonly<{
  /** Address of the chain's REST. */
  chainApiBase: string;
  profile: RoundContext['profile'];
  log: SyncLog;
  leases: Leasing;
  /** Between the beginnings of the rounds of a source. */
  intervalsMs: Readonly<Record<Source, number>>;
  logger: Logger;
  signal: AbortSignal;
  onProgress?: ReportProgress;
}>;

const read: Readonly<Record<Source, (context: RoundContext) => Promise<RoundOutcome>>> = {
  actions: readActions,
  supernodes: readSuperNodes,
  validators: readValidators,
};

const firstBackOffMs = 1_000;

/**
 * Follows the chain while the lease `sync` is held: each source at once and then on its interval, one round at a time.
 *
 * A failed round is repeated after a time that grows up to the interval, and no sooner than the chain requests within
 * it. A pending request, whether it is in the log at the start or comes later, is answered at once by a round of
 * SuperNodes and one of validators, which name it as their cause. Resolves when the signal aborts.
 *
 * @example await runSync({ chainApiBase, profile: loadProfile('main'), log, leases, intervalsMs, logger, signal })
 */
export async function runSync(options: SyncOptions): Promise<void> {
  const { leases, log } = options;
  await leases.hold('sync', options.signal, ({ signal }) =>
    follow({ ...options, log: whileHeld(log, signal) }, signal),
  );
}

async function follow(options: SyncOptions, signal: AbortSignal): Promise<void> {
  const client = createChainClient(options.chainApiBase, options.profile);
  const bells: Readonly<Record<Source, Bell>> = { actions: new Bell(), supernodes: new Bell(), validators: new Bell() };
  const findRequest = async (): Promise<void> => {
    const request = await knownOf(options.log, 'supernodes').then(
      (knownAs) => knownAs('supernodes').request,
      () => undefined,
    );
    if (request === undefined) return;
    bells.supernodes.ring(request.id);
    bells.validators.ring(request.id);
  };
  const stop = options.log.watch(['sync'], (_kind, entity) => {
    if (entity === 'supernodes') void findRequest();
  });
  try {
    await findRequest();
    const round = (source: Source, request: string | undefined): Promise<RoundEnd> =>
      runRound({
        source,
        client,
        profile: options.profile,
        log: options.log,
        signal,
        request,
        read: read[source],
        report: throttled(options.onProgress ?? (() => undefined)),
      });
    await Promise.all(sources.map((source) => repeat(source, { ...options, signal, bell: bells[source], round })));
  } finally {
    stop();
    await client.close();
  }
}

type Repeating = Pick<SyncOptions, 'intervalsMs' | 'logger' | 'signal'> &
  Readonly<{ bell: Bell; round: (source: Source, request: string | undefined) => Promise<RoundEnd> }>;

async function repeat(source: Source, { intervalsMs, logger, signal, bell, round }: Repeating): Promise<void> {
  let failures = 0;
  let requestedWaitMs = 0;
  while (!signal.aborted) {
    const startedAt = performance.now();
    const request = bell.take();
    try {
      const end = await round(source, request);
      failures = end.failure === undefined ? 0 : failures + 1;
      const { error: err, retryAfterMs = 0, ...came } = end;
      requestedWaitMs = retryAfterMs;
      const print = { source, ...came, ms: Math.round(performance.now() - startedAt) };
      if (err === undefined) logger.debug(print, 'sync round done');
      else logger.warn({ ...print, err }, 'sync round failed');
    } catch (caught) {
      if (signal.aborted) return;
      failures += 1;
      logger.warn({ source, err: toAppError(caught) }, 'sync round could not be recorded');
    }
    if (failures > 0) bell.giveBack(request);
    const untilNext = intervalsMs[source] - (performance.now() - startedAt);
    const backOffMs = Math.max(firstBackOffMs * 2 ** (failures - 1), requestedWaitMs);
    await bell.wait(failures === 0 ? untilNext : Math.min(intervalsMs[source], backOffMs), signal);
  }
}

/** Wakes a source before its time, with the request that it is to answer. */
class Bell {
  #request: string | undefined;
  #lastAnswered: string | undefined;
  #wake: AbortController | undefined;

  /** Wakes the source, once for each request. */
  ring(request: string): void {
    if (request === this.#request || request === this.#lastAnswered) return;
    this.#request = request;
    this.#wake?.abort();
  }

  /** Returns the request that the next round answers. */
  take(): string | undefined {
    const request = this.#request;
    this.#lastAnswered = request ?? this.#lastAnswered;
    this.#request = undefined;
    return request;
  }

  /** A round that failed leaves its request to the next one. */
  giveBack(request: string | undefined): void {
    this.#request ??= request;
  }

  async wait(ms: number, signal: AbortSignal): Promise<void> {
    this.#wake = new AbortController();
    const isRung = this.#request !== undefined && this.#request !== this.#lastAnswered;
    if (isRung || ms <= 0) return;
    await wait(ms, AbortSignal.any([signal, this.#wake.signal]));
  }
}
