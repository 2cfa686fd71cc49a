import { rm } from 'node:fs/promises';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { type App, errors, judgedByHandler, plainAnswer } from '../../http/schema.ts';
import { checkUpload, isCreators } from '../intake/admission.ts';
import type { Intake } from '../intake/intake.ts';
import { withPace } from '../intake/pace.ts';
import { receiveForm, tooLarge } from '../intake/receive.ts';
import type { Task } from '../tasks/task-log.ts';
import { longestMs } from './dependencies.ts';
import { refuseUpload } from './refuse.ts';
import { taskReference } from './schemas.ts';

/** Room in a request beside its file: the other parts and the boundaries. */
const formBytes = 64 * 1024;

const uploadForm = Type.Object({
  action_id: Type.String({ minLength: 1 }),
  signature: Type.String({ minLength: 1, description: 'Base64; the creator’s, over the data hash.' }),
  file: Type.Unsafe<unknown>({ type: 'string', format: 'binary' }),
});

/** `POST …/actions/cascade`: accepts a file for a pending action and starts to send it to SuperNodes. */
export function uploadRoutes(app: App, prefix: string, intake: Intake): void {
  const schema = {
    tags: ['Uploads'],
    summary: 'Upload the file of an action',
    description:
      'A multipart form with `action_id`, `signature` (the creator’s, over the data hash) and `file`. Answered once the bytes are on disk, are those that the chain names, and the signature holds. An action that is being uploaded already gives the running task.',
    body: { content: { 'multipart/form-data': { schema: uploadForm } } },
    response: {
      202: plainAnswer('The task has begun.', taskReference.ref),
      ...errors(400, 404, 408, 409, 413, 415, 429, 507),
    },
  };
  app.post(
    `${prefix}/actions/cascade`,
    { schema, handlerTimeout: longestMs, validatorCompiler: judgedByHandler, config: { slowBody: true } },
    async (request, reply) => {
      try {
        const { id } = await upload(intake, request);
        return await reply.code(202).send({ task_id: id, taskId: id });
      } catch (caught) {
        return await refuseUpload(request, reply, caught);
      }
    },
  );
}

async function upload({ files, settings, admission, begin, chain }: Intake, request: FastifyRequest): Promise<Task> {
  const { uploadMaxSize: mostBytes, uploadStallTimeoutMs: stallMs, uploadMinRate: minRate } = settings;
  const { 'content-length': length } = request.headers;
  const bytes = length === undefined ? undefined : Number(length);
  if (bytes !== undefined && bytes > mostBytes + formBytes) throw tooLarge(mostBytes);
  const path = files.incoming();
  const { makeRoom, proven, received, leave } = await admission.enter(request.ip, { file: path, bytes });
  const { hashesOf } = files;
  const admit = async (actionId: string, signature: string | undefined): Promise<void> => {
    const action = await admission.admit(actionId);
    // A wrong one is refused after the bytes: those are judged first.
    if (signature !== undefined && (await isCreators({ chain, settings }, action, signature))) await proven(actionId);
  };
  try {
    const form = await withPace(
      request.raw,
      { stallMs, minRate },
      async (ownTime) => await receiveForm(request, { mostBytes, path, hashesOf, admit, makeRoom, ownTime }),
    );
    received();
    const action = await admission.admit(form.actionId);
    await checkUpload({ chain, settings }, action, form);
    return await begin(action, form);
  } finally {
    await rm(path, { force: true });
    leave();
  }
}
