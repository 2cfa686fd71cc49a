import { AppError, toAppError } from '../../../commands/errors.ts';
import type { FactLog } from '../../../commands/ports.ts';
import { syncing } from '../../../commands/sync/sources.ts';

const attempts = 8;

/** Where the request lies in the `SYNC` stream; `joined` where one was pending already. */
export type RequestedSync = Readonly<{ sequence: number; joined: boolean }>;

/**
 * Asks for a round of SuperNodes and validators at once; one that is pending already is joined.
 *
 * `at` is RFC 3339, UTC. Resolves when the request is in the log, not when it is answered.
 *
 * @example await requestSync(log, new Date().toISOString()) // { sequence: 17, joined: false }
 */
export async function requestSync(log: FactLog, at: string): Promise<RequestedSync> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const last = (await log.last('sync', ['supernodes'])).get('supernodes');
    const known = last && syncing.isOwn(last.fact) ? syncing.after(last.fact, last) : syncing.initialState;
    if (known.request) return { sequence: known.request.sequence, joined: true };
    const facts = syncing.decide({ type: 'RequestSync', at }, known);
    try {
      const { sequence } = await log.append(
        [{ kind: 'sync', entity: 'supernodes', facts, expected: last?.sequence ?? 0 }],
        { at },
      );
      return { sequence, joined: false };
    } catch (caught) {
      if (toAppError(caught).code !== 'CONFLICT') throw caught;
    }
  }
  throw new AppError('UNAVAILABLE', 'The request could not be written: others write all the time. Try again');
}
