import { rm } from 'node:fs/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../../commands/errors.ts';
import { bodyOf } from '../../http/errors.ts';
import { type App, errors, plainAnswer } from '../../http/schema.ts';
import type { FileAction } from '../intake/checks.ts';
import { checkUpload, createAdmission } from '../intake/admission.ts';
import { type UploadForm, receiveForm, tooLarge } from '../intake/receive.ts';
import { beginTask, newTaskId, type Task } from '../tasks/task-log.ts';
import { withPace } from '../intake/pace.ts';
import { type GatewayDependencies, longestMs } from './dependencies.ts';
import { taskReference } from './schemas.ts';

/** Takes an upload in and begins it, or joins the one that runs. */
export type Uploads = (request: FastifyRequest) => Promise<Task>;

/** Room in a request beside its file: the other parts and the boundaries. */
const formBytes = 64 * 1024;
const tryAgainSeconds = 3;
/** A caller that is refused early may go on sending for so long before the connection is cut. */
const lingerMs = 5_000;

/** `POST …/actions/cascade`: takes a file in for a pending action and begins to give it to SuperNodes. */
export function uploadRoutes(app: App, prefix: string, upload: Uploads): void {
  const schema = {
    tags: ['Uploads'],
    summary: 'Upload the file of an action',
    description:
      'A multipart form with `action_id`, `signature` (the creator’s, over the data hash) and `file`. Answered once the bytes are on disk, are those that the chain names, and the signature holds. An action that is being uploaded already gives the running task.',
    consumes: ['multipart/form-data'],
    response: {
      202: plainAnswer('The task has begun.', taskReference.ref),
      ...errors(400, 404, 408, 409, 413, 415, 429, 507),
    },
  };
  app.post(`${prefix}/actions/cascade`, { schema, handlerTimeout: longestMs }, async (request, reply) => {
    try {
      const task = await upload(request);
      return await reply.code(202).send({ task_id: task.id, taskId: task.id });
    } catch (caught) {
      if (!(caught instanceof AppError)) throw caught;
      if (caught.code === 'NOT_FOUND' || caught.code === 'TOO_MANY_REQUESTS')
        reply.header('retry-after', String(tryAgainSeconds));
      dropRest(request, reply, caught);
      if (caught.code !== 'UNAUTHORIZED') throw caught;
      return await reply.code(400).send(bodyOf(caught));
    }
  });
}

/**
 * What is left of a refused body is read and dropped for a while, so that its sender can read the answer, and then the
 * connection ends.
 */
function dropRest({ raw }: FastifyRequest, reply: FastifyReply, { code }: AppError): void {
  if (raw.complete) return;
  if (code === 'REQUEST_TIMEOUT') return void reply.header('connection', 'close');
  const cut = setTimeout(() => raw.socket.destroy(), lingerMs).unref();
  const end = (): void => {
    if (!raw.readableEnded || !reply.raw.writableFinished) return;
    clearTimeout(cut);
    raw.socket.destroySoon();
  };
  raw.unpipe();
  raw.once('end', end).resume();
  reply.raw.once('finish', end);
}

/** The intake of uploads: bounds, checks, and one task for each action at a time. */
export function createUploads(dependencies: GatewayDependencies): Uploads {
  const { files, settings } = dependencies;
  const { uploadMaxSize: mostBytes, uploadStallTimeoutMs: stallMs, uploadMinRate: minRate } = settings;
  const admission = createAdmission(dependencies);
  const begin = createBeginnings(dependencies);
  return async (request) => {
    const declared = Number(request.headers['content-length'] ?? mostBytes);
    if (declared > mostBytes + formBytes) throw tooLarge(mostBytes);
    const leave = await admission.enter(request.ip, declared);
    const path = files.incoming();
    try {
      const reading = receiveForm(request, { mostBytes, path, admit: admission.admit });
      const form = await withPace(request.raw, { stallMs, minRate }, reading);
      const action = await admission.admit(form.actionId);
      await checkUpload(dependencies, action, form);
      return await begin(action, form);
    } finally {
      await rm(path, { force: true });
      leave();
    }
  };
}

/** Begins the task of an upload; uploads of one action that come at the same moment are one. */
function createBeginnings(dependencies: GatewayDependencies): (action: FileAction, form: UploadForm) => Promise<Task> {
  const { files, log, runner, clock } = dependencies;
  const beginning = new Map<string, Promise<Task>>();
  const begin = async (action: FileAction, { signature, received }: UploadForm): Promise<Task> => {
    const id = newTaskId();
    await files.adopt(received.path, id);
    const { fileName, size } = received;
    const { dataHash } = action.file;
    const at = new Date(clock()).toISOString();
    const asked = { action: action.id, at, fileName, size: String(size), dataHash, signature, store: files.store };
    const task = await beginTask(log, id, { direction: 'upload', ...asked });
    runner.run(task);
    return task;
  };
  return async (action, form) => {
    const running = runner.uploadOf(action.id) ?? beginning.get(action.id);
    if (running) return await running;
    const begun = begin(action, form).finally(() => beginning.delete(action.id));
    beginning.set(action.id, begun);
    return await begun;
  };
}
