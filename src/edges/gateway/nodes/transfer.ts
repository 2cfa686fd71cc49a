import type { TransferStep } from '../../../commands/transfers/steps.ts';
import type { CascadeAction, CascadeChain, StoringNode } from '../../chain/files/chain.ts';
import { wait } from '../../../kit/wait.ts';
import { type Failure, type AttemptsOutcome, tryNodes } from './attempts.ts';
import type { Dialling } from './connection.ts';
import { downloadFrom, type Wanted } from './download.ts';
import type { Failures } from './failures.ts';
import type { GatewayHedges } from './hedges.ts';
import { awaitFinalization, isFinalized } from './finalization.ts';
import { untilAnswered } from './patience.ts';
import type { Trying } from './running-attempt.ts';
import { createPauses, lacksSymbols, waitingStep } from './spreading.ts';
import { type LocalFile, uploadTo } from './upload.ts';

/** What transfers to and from SuperNodes need. */
export type NodeTransfers = Readonly<{
  chain: CascadeChain;
  dialling: Dialling;
  /** An attempt without progress for so long is abandoned. */
  stallMs: number;
  /** The same limit while a node works with a file that it has. */
  processingMs: number;
  /** Busy nodes are waited for so long in all, two minutes unless set. */
  busyMs?: number;
  /** Remembers nodes that failed, so that others come first. */
  failures: Failures;
  /** The pace of transfers. */
  hedges: GatewayHedges;
  /** How often the chain is queried for a finalization. */
  pollMs?: number;
  /** Pauses of downloads are so many times as long as usual. */
  pauseScale?: number;
}>;

/** Whose transfer it is; `last` is the number of its last event. */
export type TransferTask = Readonly<{ taskId: string; last: number; signal: AbortSignal }>;

const usualPollMs = 1_000;
/** Nodes that lack symbols are tried again by so many at once: any of them gathers those of all. */
const nodesPerRound = 2;

/**
 * Sends a file to the SuperNodes of its action's top list until the chain has the action finalized.
 *
 * Yields the states after `sdk:started`, each array to be written at once, the terminal one last. Never fails for what
 * nodes or the chain do; fails when the signal aborts.
 */
export async function* uploadToNodes(
  { chain, hedges, pollMs = usualPollMs, ...limits }: NodeTransfers,
  { id, record }: CascadeAction,
  file: LocalFile,
  task: TransferTask,
): AsyncGenerator<TransferStep[], void> {
  const { signal } = task;
  const match = await storers(chain, record.height ?? 0, signal);
  if ('failure' in match) return yield match.failure;
  yield match.steps;
  const hedging = { hedges: hedges.uploads, bytes: file.size };
  const trying = { ...limits, ...task, nodes: match.nodes, status: 'sdk:registration_attempt', hedging };
  const outcome = yield* tryNodes(
    trying,
    async function* (attempt) {
      const txHash = yield* uploadTo(attempt, id, file);
      // From here on it is the chain that takes its time.
      attempt.watch.enter('sealing');
      const isOwn = await awaitFinalization(chain, id, { txHash, pollMs, signal: attempt.watch.signal });
      return isOwn && isHash(txHash) ? txHash : '';
    },
    async () => ((await isFinalized(chain, id, signal)) ? '' : undefined),
  );
  if ('failure' in outcome) return yield failed(outcome);
  if (outcome.value !== '') yield [{ status: 'sdk:txhash_received', detail: { txhash: outcome.value } }];
  yield [{ status: 'sdk:registration_successful' }, { status: 'sdk:completed' }];
}

/**
 * Fetches a file from the SuperNodes of its action's top list until one sends the bytes that the chain names.
 *
 * Yields the states after `sdk:started`, each array to be written at once, the terminal one last; the file is there
 * before `sdk:completed`. Never fails for what nodes or the chain do; fails when the signal aborts.
 */
export async function* downloadFromNodes(
  { chain, hedges, pauseScale, ...limits }: NodeTransfers,
  { record }: CascadeAction,
  { isFresh, ...wanted }: Wanted & Readonly<{ isFresh: () => Promise<boolean> }>,
  task: TransferTask,
): AsyncGenerator<TransferStep[], void> {
  const result = await servers(chain, record.height ?? 0, task.signal);
  if ('failure' in result) return yield result.failure;
  yield result.steps;
  const nextPause = createPauses(pauseScale);
  let beyond: readonly StoringNode[] | undefined;
  const hedging = { hedges: hedges.downloads, bytes: wanted.expectedBytes };
  let trying: Trying = { ...limits, ...task, nodes: result.nodes, status: 'sdk:download_attempt', hedging };
  for (;;) {
    const outcome = yield* tryNodes(trying, fetching(wanted), async () => undefined);
    if (!('failure' in outcome)) return yield* outcome.value;
    const lacking = outcome.failures.filter(({ reason }) => lacksSymbols(reason));
    if (lacking.length === 0) {
      const others = beyond ?? (await othersOf(chain, result.nodes, task.signal));
      beyond = [];
      if (others.length === 0) return yield failed(outcome);
      trying = { ...trying, nodes: others, after: { iteration: outcome.tries, previousError: outcome.failure.reason } };
      continue;
    }
    const previousError = lacking.at(-1)?.reason;
    const pauseMs = previousError !== undefined && (await isFresh()) ? nextPause() : undefined;
    if (previousError === undefined || pauseMs === undefined) return yield failed(outcome);
    yield [waitingStep(outcome.tries, pauseMs, previousError)];
    await wait(pauseMs, task.signal);
    task.signal.throwIfAborted();
    const nodes = [...new Set(lacking.map(({ node }) => node))].slice(0, nodesPerRound);
    trying = { ...trying, nodes, after: { iteration: outcome.tries, previousError } };
  }
}

/** Attempts beside each other write to files of their own; one alone takes the room that its task has reserved. */
function fetching(wanted: Wanted): Parameters<typeof tryNodes<TransferStep[][]>>[1] {
  const targets = [wanted.into, `${wanted.into}-beside`];
  return async function* (attempt) {
    const target = targets.shift() ?? wanted.into;
    try {
      return yield* downloadFrom(attempt, wanted, target);
    } finally {
      targets.push(target);
      targets.sort();
    }
  };
}

/** Returns whether a node's word for a transaction's hash is one. */
function isHash(text: string): boolean {
  return /^[\dA-F]{64}$/i.test(text);
}

type Match = Readonly<{ nodes: Awaited<ReturnType<CascadeChain['storers']>>['nodes']; steps: TransferStep[] }>;

async function storers(
  chain: CascadeChain,
  height: number,
  signal: AbortSignal,
): Promise<Match | Readonly<{ failure: TransferStep[] }>> {
  const { nodes, total } = await untilAnswered(async () => await chain.storers(height), signal);
  if (nodes.length === 0)
    return { failure: failing('no SuperNode of the top list can be dialled', 'sdk:supernodes_unavailable') };
  return { nodes, steps: [{ status: 'sdk:supernodes_found', detail: { count: nodes.length, total } }] };
}

/** The nodes of an action's height; where none of them is left, those of the latest: any node serves any file. */
async function servers(chain: CascadeChain, height: number, signal: AbortSignal): ReturnType<typeof storers> {
  const hit = await storers(chain, height, signal);
  if (!('failure' in hit)) return hit;
  return await storers(chain, await untilAnswered(async () => (await chain.head()).height, signal), signal);
}

/** Nodes near the latest block that are not among those of the action's height. */
async function othersOf(
  chain: CascadeChain,
  tried: readonly StoringNode[],
  signal: AbortSignal,
): Promise<readonly StoringNode[]> {
  const { nodes } = await untilAnswered(async () => await chain.storers((await chain.head()).height), signal);
  return nodes.filter(({ account }) => tried.every((other) => other.account !== account));
}

/** Nodes that were reached are not reported as away: `sdk:failed` alone describes their failure. */
function failed({ failure, tries }: Extract<AttemptsOutcome<unknown>, { failure: Failure }>): TransferStep[] {
  const { node, reason, state } = failure;
  return failing(`none of the SuperNodes came to an end in ${tries} attempts; ${node.account}: ${reason}`, state);
}

function failing(error: string, state: string | undefined): TransferStep[] {
  const detail = { error, code: 'SERVICE_UNAVAILABLE' };
  const last = { status: 'sdk:failed', detail };
  return state === undefined ? [last] : [{ status: state, detail }, last];
}
