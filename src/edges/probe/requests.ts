import type { Logger } from '../log.ts';
import type { WatchedLog } from './fleet.ts';
import type { Reason } from './recorder.ts';

const source = 'supernodes';

/**
 * Calls `onAnswered` once for every completed round of SuperNodes that answers somebody's request; gives the function that ends this.
 *
 * Such a round names the request as its cause, or follows a fact in which the request was still pending.
 */
export async function followRequests(
  log: WatchedLog,
  logger: Logger,
  onAnswered: (reason: Reason) => Promise<void>,
): Promise<() => void> {
  let seen = 0;
  let wasPending = false;

  const look = async (): Promise<Reason | undefined> => {
    const last = (await log.last('sync', [source])).get(source);
    if (!last || last.sequence <= seen) return undefined;
    const { fact, id, causation } = last;
    const isAnswer = fact.type === 'SyncRoundCompleted' && (wasPending || causation !== undefined);
    seen = last.sequence;
    wasPending =
      fact.type !== 'ChainIdentified' &&
      'known' in fact.data &&
      'request' in fact.data.known &&
      fact.data.known.request !== undefined;
    return isAnswer ? { causation: id } : undefined;
  };

  const unwatch = log.watch(['sync'], (_, entity) => {
    if (entity !== source) return;
    look()
      .then((reason) => reason && onAnswered(reason))
      .catch((caught: unknown) =>
        logger.warn({ reason: String(caught) }, 'a request for probes could not be followed'),
      );
  });
  await look();
  return unwatch;
}
