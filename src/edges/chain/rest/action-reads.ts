import type { ActionRecord } from '../../../commands/sync/action-states.ts';
import type { ChainSession } from './client.ts';
import { ChainFailure } from './failure.ts';
import { dataHashOf, parseAction } from './records.ts';
import { asObject, attempt, BadRecord } from './values.ts';
import type { ActionType } from '../../../events/words.ts';

/** An action's record, or why there is none: the chain does not know it, fails on it, or its answer cannot be read. */
export type ReadAction = Readonly<
  { record: ActionRecord } | { reason: string; why: 'missing' | 'refused' | 'unreadable' }
>;

const notImplemented = 501;

/** Where records are read: pinned to a height, addresses of one prefix. */
type ReadContext = Readonly<{ session: ChainSession; height: number; prefix: string }>;

/**
 * Reads one action's record as of the height.
 *
 * A record that is refused for itself (unreadable, or an error answer about it alone) comes back as a reason; a chain
 * that cannot be reached, or does not have the route, fails.
 */
export async function readAction({ session, height, prefix }: ReadContext, id: string): Promise<ReadAction> {
  try {
    const answer = await session.find(`~/action/v1/get_action/${id}`, { height });
    if (answer === undefined) return { reason: 'the chain does not know it', why: 'missing' };
    return recordOf(asObject(answer.body)?.['action'], id, prefix);
  } catch (caught) {
    const isAboutIt =
      caught instanceof ChainFailure && caught.reason === 'bad_answer' && caught.status !== notImplemented;
    if (isAboutIt) return { reason: caught.message, why: 'refused' };
    throw caught;
  }
}

/** A record as a list or a single answer holds it; one that claims another id is refused. */
export function recordOf(value: unknown, id: string, prefix: string): ReadAction {
  const read = attempt(() => {
    const record = asObject(value);
    if (record?.['actionID'] !== id) throw new BadRecord('the answer is about something else');
    return parseAction(record, prefix);
  });
  return 'value' in read ? { record: read.value } : { reason: read.reason, why: 'unreadable' };
}

/**
 * Restores metadata that the chain has emptied, as it was at registration.
 *
 * From the state at the height of registration, else the data hash alone from the register message, else nothing. It
 * requests no lower heights from a node that has pruned one.
 */
export function createMetadataRecovery({
  session,
  prefix,
}: Pick<ReadContext, 'session' | 'prefix'>): (
  id: string,
  record: ActionRecord,
  fromMessage: string,
) => Promise<ActionRecord> {
  let prunedTo = 0;
  return async (id, record, fromMessage) => {
    const at = record.height;
    if (at !== undefined && at > prunedTo) {
      const then = await readThen({ session, height: at, prefix }, id);
      if (then === 'pruned') prunedTo = Math.max(prunedTo, at);
      else if (then !== undefined && then.metadata !== '')
        return {
          ...record,
          metadata: then.metadata,
          dataHash: dataHashOf(kindOf(record), then.metadata) || fromMessage,
        };
    }
    return { ...record, dataHash: fromMessage };
  };
}

async function readThen(context: ReadContext, id: string): Promise<ActionRecord | 'pruned' | undefined> {
  try {
    const read = await readAction(context, id);
    return 'record' in read ? read.record : undefined;
  } catch (caught) {
    if (caught instanceof ChainFailure && caught.reason === 'pruned') return 'pruned';
    throw caught;
  }
}

function kindOf({ kind }: ActionRecord): ActionType {
  return kind === 'sense' ? 'sense' : 'cascade';
}
