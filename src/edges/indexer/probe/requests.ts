import type { Fact } from '../../../events/catalogue.ts';
import type { Logger } from '../../kit/logger.ts';
import type { WatchedLog } from './fleet.ts';
import type { Reason } from './recorder.ts';

const source = 'supernodes';

/** Who is told of answered requests, and for how long. */
export type RequestOptions = Readonly<{
  onAnswered: (reason: Reason) => Promise<void>;
  logger: Logger;
  signal: AbortSignal;
}>;

/**
 * Tells of every completed round of SuperNodes that answers somebody's request, until the signal ends it.
 *
 * Such a round names the request as its cause, or follows a fact in which the request was still pending.
 */
export async function followRequests(log: WatchedLog, { onAnswered, logger, signal }: RequestOptions): Promise<void> {
  let seen = 0;
  let wasPending = false;

  const look = async (): Promise<Reason | undefined> => {
    const last = (await log.last('sync', [source])).get(source);
    if (!last || last.sequence <= seen) return undefined;
    const { fact, id, causation } = last;
    const isAnswer = fact.type === 'SyncRoundCompleted' && (wasPending || causation !== undefined);
    seen = last.sequence;
    wasPending = isPending(fact);
    return isAnswer ? { causation: id } : undefined;
  };
  const lookAndTell = async () => {
    try {
      const reason = await look();
      if (reason && !signal.aborted) await onAnswered(reason);
    } catch (caught) {
      logger.warn({ reason: String(caught) }, 'a request for probes could not be followed');
    }
  };

  const unwatch = log.watch(['sync'], (_, entity) => void (entity === source && lookAndTell()));
  signal.addEventListener('abort', unwatch, { once: true });
  await look();
}

function isPending({ type, data }: Fact): boolean {
  if (type === 'SyncRequested') return true;
  return (type === 'SyncRoundCompleted' || type === 'SyncRoundFailed') && data.known.request !== undefined;
}
