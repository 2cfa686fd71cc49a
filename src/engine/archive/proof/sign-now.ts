import type { NatsConnection } from '@nats-io/transport-node';
import type { StreamName } from '../../../events/streams.ts';
import { AppError } from '../../../kit/errors.ts';
import { poll } from '../../../kit/repeat.ts';
import type { Log } from '../../log/log.ts';
import { subscribe } from '../../log/subscribe.ts';
import type { Checkpoints } from './checkpoints.ts';

/** What a request for a checkpoint needs. */
type SigningRequest = Readonly<{
  nc: NatsConnection;
  network: string;
  checkpoints: Pick<Checkpoints, 'last' | 'refusals'>;
  log: Pick<Log, 'head'>;
  signal: AbortSignal;
}>;

const requestEachMs = 250;
const signedWithinMs = 60_000;

/**
 * Requests a checkpoint of all events that a stream has now, whatever the interval of checkpoints is, and returns it
 * once the process that keeps the archive has signed it.
 *
 * Fails with `CONFLICT` and the reason where nothing is signed of the stream, and with `DEADLINE` where no process
 * signs.
 */
export async function signNow(
  { nc, network, checkpoints, log, signal }: SigningRequest,
  stream: StreamName,
): Promise<Readonly<{ size: number; origin: string; signedAt: string }>> {
  const { lastSequence } = await log.head(stream);
  const look = async () => {
    nc.publish(subjectOfRequests(network));
    const [last, refusals] = await Promise.all([checkpoints.last(), checkpoints.refusals()]);
    const refused = refusals.find((one) => one.stream === stream);
    if (refused) throw new AppError('CONFLICT', refused.reason);
    return last.find((one) => one.stream === stream && one.size >= lastSequence);
  };
  const signed = await poll(look, { everyMs: requestEachMs, withinMs: signedWithinMs, signal });
  signal.throwIfAborted();
  if (signed) return { size: signed.size, origin: signed.origin, signedAt: signed.signedAt };
  throw new AppError(
    'DEADLINE',
    `No checkpoint of ${lastSequence} events of ${stream} was signed: a process of the role projector has to run, with a CHECKPOINT_INTERVAL`,
  );
}

/** Calls back at each request for checkpoints until the returned function is called. */
export function onSigningRequest(nc: NatsConnection, network: string, listener: () => void): () => void {
  const subscription = subscribe(nc, subjectOfRequests(network), listener);
  return () => {
    if (!subscription.isClosed()) subscription.unsubscribe();
  };
}

/** Requests are not stored: whoever waits repeats them. */
function subjectOfRequests(network: string): string {
  return `annals.${network}.checkpoints.requested`;
}
