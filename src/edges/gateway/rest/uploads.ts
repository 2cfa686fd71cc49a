import { rm } from 'node:fs/promises';
import type { FastifyRequest } from 'fastify';
import { AppError } from '../../../commands/errors.ts';
import { bodyOf } from '../../http/errors.ts';
import { type App, errors, plainAnswer } from '../../http/schema.ts';
import { actionOnChain, checkHash, checkPending, checkSignature } from '../intake/checks.ts';
import { receiveForm, tooLarge } from '../intake/receive.ts';
import { beginTask, newTaskId, type Task } from '../tasks/task-log.ts';
import { type GatewayDependencies, longestMs } from './dependencies.ts';
import { taskReference } from './schemas.ts';

/** Room in a request beside its file: the other parts and the boundaries. */
const formBytes = 64 * 1024;
const tryAgainSeconds = 3;

/** `POST …/actions/cascade`: takes a file in for a pending action and begins to give it to SuperNodes. */
export function uploadRoutes(app: App, prefix: string, dependencies: GatewayDependencies): void {
  const underWay = new Map<string, Promise<Task>>();
  const schema = {
    tags: ['Uploads'],
    summary: 'Upload the file of an action',
    description:
      'A multipart form with `action_id`, `signature` (the creator’s, over the data hash) and `file`. Answered once the bytes are on disk, are those that the chain names, and the signature holds. An action that is being uploaded already gives the running task.',
    consumes: ['multipart/form-data'],
    response: { 202: plainAnswer('The task has begun.', taskReference.ref), ...errors(400, 404, 429) },
  };
  app.post(`${prefix}/actions/cascade`, { schema, handlerTimeout: longestMs }, async (request, reply) => {
    try {
      const task = await upload(dependencies, underWay, request);
      return await reply.code(202).send({ task_id: task.id, taskId: task.id });
    } catch (caught) {
      if (!(caught instanceof AppError)) throw caught;
      if (caught.code === 'NOT_FOUND') reply.header('retry-after', String(tryAgainSeconds));
      // The rest of the body is not read: whoever sends it has its answer and ends.
      if (!request.raw.readableEnded) reply.header('connection', 'close');
      if (caught.code !== 'UNAUTHORIZED') throw caught;
      return await reply.code(400).send(bodyOf(caught));
    }
  });
}

async function upload(
  { chain, files, log, runner, settings: { uploadMaxSize }, clock }: GatewayDependencies,
  underWay: Map<string, Promise<Task>>,
  request: FastifyRequest,
): Promise<Task> {
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > uploadMaxSize + formBytes) throw tooLarge(uploadMaxSize);
  const path = files.incoming();
  const admit = async (id: string): Promise<void> => {
    const action = await actionOnChain(chain, id);
    if (!underWay.has(id)) checkPending(action);
  };
  const { actionId, signature, received } = await receiveForm(request, { mostBytes: uploadMaxSize, path, admit });
  try {
    const action = await actionOnChain(chain, actionId);
    const running = underWay.get(actionId);
    if (!running) checkPending(action);
    checkHash(action, received.hashes);
    const { dataHash } = action.file;
    await checkSignature(chain, action, { text: dataHash, signature });
    const joined = running ?? underWay.get(actionId);
    if (joined) return await joined;
    const id = newTaskId();
    const begin = async (): Promise<Task> => {
      await files.adopt(received.path, id);
      const { fileName, size } = received;
      const at = new Date(clock()).toISOString();
      const asked = { action: actionId, at, fileName, size: String(size), dataHash, signature, store: files.store };
      return await beginTask(log, id, { direction: 'upload', ...asked });
    };
    const begun = begin();
    underWay.set(actionId, begun);
    const task = await begun.catch((caught: unknown) => {
      underWay.delete(actionId);
      throw caught;
    });
    runner.run(task);
    void runner.endOf(task).finally(() => underWay.delete(actionId));
    return task;
  } finally {
    await rm(path, { force: true });
  }
}
