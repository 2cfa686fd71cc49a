import { createHmac, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { AppError } from '../../../kit/errors.ts';
import { recordedBytes } from '../nodes/download.ts';
import type { GatewayDependencies } from '../rest/dependencies.ts';
import { newTaskId, retrievalName, type Task } from '../tasks/task-log.ts';
import { actionOnChain, checkInput, checkSignature, checkStored, type FileAction } from './checks.ts';
import { createTurns } from '../../../kit/turns.ts';

/** A request for the file of an action, and its sender. */
export type DownloadRequest = Readonly<{
  actionId: string;
  isPublic: boolean;
  signature: string | undefined;
  ip: string;
}>;

/** Starts the download that is requested, or joins it. */
export type DownloadRequests = (request: DownloadRequest) => Promise<Task>;

const mostKnown = 10_000;

/**
 * Starts downloads. The same request joins the task that runs; one of a public file also the task whose file is kept,
 * so that an action's file is fetched once, however many clients request it. Signatures are known by a keyed hash
 * alone.
 *
 * A download holds a turn of its caller and the room that its record names until its task has ended.
 */
export function createDownloadRequests(dependencies: GatewayDependencies): DownloadRequests {
  const { settings } = dependencies;
  const secret = randomBytes(32);
  const takeTurn = createTurns({
    what: 'downloads',
    mostPerAddress: settings.downloadsMaxPerAddress,
    most: settings.downloadsMax,
  });
  const running = new Map<string, Promise<Task>>();
  const fetched = new LRUCache<string, Task>({ max: mostKnown });
  const follow = async (starting: Promise<Started>, isPublic: boolean): Promise<void> => {
    const { task, ended } = await starting;
    if (isPublic) fetched.set(task.known.action, task);
    await ended;
  };
  return async (request) => {
    const action = await requestedAction(dependencies, request);
    const opens = await openerOf(dependencies, action, request);
    const key = createHmac('sha256', secret)
      .update(`${action.id}\n${opens ?? ''}`)
      .digest('base64');
    const earlier = opens === undefined ? await storedTask(dependencies, fetched.get(action.id)) : undefined;
    if (earlier) return earlier;
    const other = running.get(key);
    if (other) return await other;
    const giveBack = takeTurn(request.ip);
    const starting = startDownload(dependencies, action, opens);
    const started = starting.then(({ task }) => task);
    running.set(key, started);
    void follow(starting, opens === undefined)
      .catch(() => undefined)
      .finally(() => {
        running.delete(key);
        giveBack();
      });
    return await started;
  };
}

async function requestedAction(
  { chain, settings }: GatewayDependencies,
  { actionId, isPublic, signature }: DownloadRequest,
): Promise<FileAction> {
  if (!isPublic && signature === undefined && settings.publicDownloads !== 'chain') throw unsigned();
  const action = await actionOnChain(chain, actionId);
  checkStored(action);
  return action;
}

type Started = Readonly<{ task: Task; ended: Promise<void> }>;

async function startDownload(
  { chain, clock, files, runner, settings }: GatewayDependencies,
  action: FileAction,
  signature: string | undefined,
): Promise<Started> {
  await checkInput(chain, action);
  const id = newTaskId();
  const isPrivate = signature !== undefined;
  const path = files.fetchedOf(isPrivate ? retrievalName(id) : id);
  const room = await files.space.reserve(path, recordedBytes(action, settings.uploadMaxSize), 'download');
  try {
    const at = new Date(clock()).toISOString();
    const task = await runner.begin(id, { direction: 'download', isPrivate, action: action.id, at }, action, signature);
    return { task, ended: runner.endOf(task).finally(room.release) };
  } catch (caught) {
    room.release();
    throw caught;
  }
}

/** A task whose file is still there; its time of retention starts again. */
async function storedTask(
  { clock, files, settings: { downloadKeepMs } }: GatewayDependencies,
  task: Task | undefined,
): Promise<Task | undefined> {
  if (!task) return undefined;
  const at = await files.fetchedAt(task.name);
  if (at === undefined || clock() - at > downloadKeepMs) return undefined;
  await files.keepFetched(task.name, clock());
  return task;
}

/** The signature that opens a file: none for a public one. Fails with `UNAUTHORIZED` where there is no right to it. */
async function openerOf(
  { chain, settings }: GatewayDependencies,
  action: FileAction,
  { isPublic, signature }: DownloadRequest,
): Promise<string | undefined> {
  const byChain = settings.publicDownloads === 'chain';
  if (action.file.isPublic && (isPublic || byChain || signature !== undefined)) return undefined;
  if (isPublic) throw new AppError('UNAUTHORIZED', 'The file is private; ask with the signature of its creator');
  if (signature === undefined) throw unsigned();
  await checkSignature({ chain, settings }, action, { text: action.id, signature });
  return signature;
}

function unsigned(): AppError {
  return new AppError('INVALID_ARGUMENT', 'signature is required');
}
