import type { Step } from '../../../commands/transfers/steps.ts';
import { toAppError } from '../../../commands/errors.ts';
import type { CascadeAction, CascadeChain } from '../../cascade/chain.ts';
import { type Failure, type Outcome, tryNodes } from './attempts.ts';
import type { Dialling } from './connection.ts';
import { downloadFrom, type Wanted } from './download.ts';
import { cleaned } from './states.ts';
import { type LocalFile, uploadTo } from './upload.ts';

/** What transfers to and from SuperNodes need. */
export type NodeTransfers = Readonly<{
  chain: CascadeChain;
  dialling: Dialling;
  /** An attempt in which nothing moves for so long is given up. */
  stallMs: number;
}>;

/** Whose transfer it is. */
export type TransferTask = Readonly<{ taskId: string; signal: AbortSignal }>;

/**
 * Gives a file to the SuperNodes of its action's top list until one has finalized the action.
 *
 * Gives the states after `sdk:started`, each array to be written at once, the terminal one last. Never fails for what
 * nodes or the chain do; fails when the signal aborts.
 */
export async function* uploadToNodes(
  { chain, dialling, stallMs }: NodeTransfers,
  { id, record }: CascadeAction,
  file: LocalFile,
  { taskId, signal }: TransferTask,
): AsyncGenerator<Step[], void> {
  const found = await storers(chain, record.height ?? 0, signal);
  if ('failure' in found) return yield found.failure;
  yield found.steps;
  const trying = { nodes: found.nodes, taskId, dialling, stallMs, signal, status: 'sdk:registration_attempt' };
  const isDone = async (): Promise<string | undefined> => {
    const state = (await chain.action(id).catch(() => undefined))?.record.chainState;
    return state === 'done' || state === 'approved' ? '' : undefined;
  };
  const outcome = yield* tryNodes(trying, (attempt) => uploadTo(attempt, id, file), isDone);
  if ('failure' in outcome) return yield failed(outcome);
  if (outcome.value !== '') yield [{ status: 'sdk:txhash_received', detail: { txhash: outcome.value } }];
  yield [{ status: 'sdk:registration_successful' }, { status: 'sdk:completed' }];
}

/**
 * Fetches a file from the SuperNodes of its action's top list until one gives the bytes that the chain names.
 *
 * Gives the states after `sdk:started`, each array to be written at once, the terminal one last; the file is there
 * before `sdk:completed`. Never fails for what nodes or the chain do; fails when the signal aborts.
 */
export async function* downloadFromNodes(
  { chain, dialling, stallMs }: NodeTransfers,
  { record }: CascadeAction,
  wanted: Wanted,
  { taskId, signal }: TransferTask,
): AsyncGenerator<Step[], void> {
  const found = await storers(chain, record.height ?? 0, signal);
  if ('failure' in found) return yield found.failure;
  yield found.steps;
  const trying = { nodes: found.nodes, taskId, dialling, stallMs, signal, status: 'sdk:download_attempt' };
  const outcome = yield* tryNodes(
    trying,
    async function* (attempt) {
      yield* downloadFrom(attempt, wanted);
      return true;
    },
    async () => undefined,
  );
  if ('failure' in outcome) yield failed(outcome);
}

type Found = Readonly<{ nodes: Awaited<ReturnType<CascadeChain['storers']>>['nodes']; steps: Step[] }>;

async function storers(
  chain: CascadeChain,
  height: number,
  signal: AbortSignal,
): Promise<Found | Readonly<{ failure: Step[] }>> {
  try {
    const { nodes, total } = await chain.storers(height);
    if (nodes.length === 0) return { failure: unavailable('no SuperNode of the top list can be dialled') };
    return { nodes, steps: [{ status: 'sdk:supernodes_found', detail: { count: nodes.length, total } }] };
  } catch (caught) {
    signal.throwIfAborted();
    return { failure: unavailable(cleaned(toAppError(caught).message)) };
  }
}

function unavailable(error: string): Step[] {
  return failing(error, 'sdk:supernodes_unavailable');
}

/** Nodes that were reached are not told as away: `sdk:failed` alone says what they did. */
function failed({ failure, tries }: Extract<Outcome<unknown>, { failure: Failure }>): Step[] {
  const { account, reason, state } = failure;
  return failing(`none of the SuperNodes came to an end in ${tries} attempts; ${account}: ${reason}`, state);
}

function failing(error: string, state: string | undefined): Step[] {
  const detail = { error, code: 'SERVICE_UNAVAILABLE' };
  const last = { status: 'sdk:failed', detail };
  return state === undefined ? [last] : [{ status: state, detail }, last];
}
