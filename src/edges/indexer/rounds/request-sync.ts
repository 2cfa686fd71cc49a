import type { FactLog } from '../../../commands/ports.ts';
import { RequestSync } from '../../../commands/sync/round-commands.ts';
import { dispatch } from '../../bus.ts';

/** Where the request lies in the `SYNC` stream; `joined` where one was pending already. */
type RequestedSync = Readonly<{ sequence: number; joined: boolean }>;

/**
 * Requests a round of SuperNodes and validators at once; joins a pending request.
 *
 * `at` is RFC 3339, UTC; `traceparent` is that of the caller (W3C Trace Context), and is written to the event. Resolves
 * when the request is in the log, not when it is answered.
 *
 * @example await requestSync(log, new Date().toISOString()) // { sequence: 17, joined: false }
 */
export async function requestSync(log: FactLog, at: string, traceparent?: string): Promise<RequestedSync> {
  const { facts, states } = await dispatch(log, new RequestSync({ at, traceparent }));
  const [known] = states.values();
  const request = known?.state.request;
  if (request === undefined) throw new Error('A request for a round is neither written nor pending');
  return { sequence: request.sequence, joined: facts === 0 };
}
