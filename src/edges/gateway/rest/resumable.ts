import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { bodyOf, statusOf } from '../../http/errors.ts';
import { type App, errors, judgedByHandler, plainAnswer } from '../../http/schema.ts';
import type { Intake } from '../intake/intake.ts';
import { createResumable, UploadProblem } from '../intake/resumable.ts';
import { readOpening, readPortion } from '../intake/upload-headers.ts';
import type { PartialUpload } from '../tasks/partial-uploads.ts';
import { longestMs } from './dependencies.ts';
import { dropRest, refuseUpload } from './refuse.ts';
import { taskReference } from './schemas.ts';

type Named = { Params: { upload_id: string } };

/**
 * Uploads in several requests, after draft-ietf-httpbis-resumable-upload: `POST` starts one, `HEAD` reports its offset,
 * `PATCH` continues, and the last byte does what the form does.
 */
export function resumableRoutes(app: App, path: string, intake: Intake): void {
  const { uploadMaxSize, uploadTempMaxAgeMs } = intake.settings;
  const limit = `max-size=${uploadMaxSize}, max-age=${Math.floor(uploadTempMaxAgeMs / 1000)}`;
  const resumable = createResumable(intake);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.addHook('onRequest', async (_request, reply) => {
    reply.headers({ 'cache-control': 'no-store', 'upload-limit': limit });
  });
  app.setErrorHandler(async (caught, request, reply) => await refuse(caught, request, reply));
  const options = { handlerTimeout: longestMs, validatorCompiler: judgedByHandler, config: { slowBody: true } };
  app.post(path, { schema: schemas.post, ...options }, async (request, reply) => {
    const opening = readOpening(request.headers);
    const { id } = await resumable.create(opening);
    reply.header('location', `${path}/${id}`);
    return reported(reply, await resumable.append(id, opening, request), 201);
  });
  app.patch<Named>(`${path}/:upload_id`, { schema: schemas.patch, ...options }, async (request, reply) => {
    const portion = readPortion(request.headers);
    return reported(reply, await resumable.append(request.params.upload_id, portion, request), 204);
  });
  app.get<Named>(`${path}/:upload_id`, { schema: schemas.get }, async (request, reply) => {
    const { actionId, offset, task } = withHeaders(reply, await resumable.find(request.params.upload_id));
    const named = task === null ? {} : { task_id: task };
    return { action_id: actionId, offset, complete: task !== null, ...named };
  });
  app.delete<Named>(`${path}/:upload_id`, { schema: schemas.delete }, async (request, reply) => {
    await resumable.remove(request.params.upload_id);
    return await reply.code(204).send();
  });
}

/** 202 and the task once the file is complete, else the offset. */
function reported(reply: FastifyReply, upload: PartialUpload, status: 201 | 204): FastifyReply {
  const { task } = withHeaders(reply, upload);
  return task === null ? reply.code(status).send() : reply.code(202).send({ task_id: task, taskId: task });
}

function withHeaders(reply: FastifyReply, upload: PartialUpload): PartialUpload {
  reply.headers({
    'upload-offset': String(upload.offset),
    'upload-complete': upload.task === null ? '?0' : '?1',
    ...(upload.length === null ? {} : { 'upload-length': String(upload.length) }),
  });
  return upload;
}

async function refuse(caught: unknown, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  if (!(caught instanceof UploadProblem)) return await refuseUpload(request, reply, caught);
  dropRest(request, reply, caught);
  const expected = caught.members['expected-offset'];
  if (expected !== undefined) reply.header('upload-offset', String(expected));
  const problem = { type: caught.type, title: caught.message, ...caught.members, ...bodyOf(caught) };
  return await reply.code(statusOf[caught.code]).type('application/problem+json').send(problem);
}

const progress = {
  'Upload-Offset': { type: 'integer', description: 'Bytes that came.' },
  'Upload-Complete': { type: 'string', description: '`?1` once the file is whole.' },
};

const isLast = Type.String({
  enum: ['?0', '?1'],
  description: '`?1` where the body ends the file, else `?0`.',
});
const bytes = { minimum: 0, maximum: 999_999_999_999_999 };
const openingHeaders = Type.Object({
  'Annals-Action-Id': Type.String({ minLength: 1 }),
  'Annals-Signature': Type.String({ minLength: 1, description: 'Base64; the creator’s, over the data hash.' }),
  'Upload-Complete': isLast,
  'Upload-Length': Type.Optional(Type.Integer({ ...bytes, description: 'Bytes of the file, where known.' })),
  'Content-Disposition': Type.Optional(Type.String({ description: 'Names the file.' })),
});
const portionHeaders = Type.Object({
  'Upload-Offset': Type.Integer({ ...bytes, description: 'Where the bytes go.' }),
  'Upload-Complete': isLast,
  'Upload-Length': Type.Optional(Type.Integer(bytes)),
});
const binary = Type.Unsafe<unknown>({ type: 'string', format: 'binary' });

const accepted = plainAnswer('The file is whole, and its task has begun.', taskReference.ref);

const schemas = {
  post: {
    tags: ['Uploads'],
    summary: 'Begin an upload that can be resumed',
    description:
      'With the file, or its first bytes, or none. `Location` names the upload. After draft-ietf-httpbis-resumable-upload.',
    headers: openingHeaders,
    response: {
      201: { description: 'Go on with PATCH at `Location`.', headers: progress },
      202: accepted,
      ...errors(400, 404, 408, 409, 413, 415, 429, 507),
    },
  },
  patch: {
    tags: ['Uploads'],
    summary: 'Go on with an upload',
    description:
      'Bytes from `Upload-Offset` on, as `application/partial-upload`; `Upload-Complete: ?1` with the last of them. Bytes that came before a break are kept. 409 with the offset where another one is expected.',
    headers: portionHeaders,
    body: { content: { 'application/partial-upload': { schema: binary } } },
    response: {
      204: { description: 'They are on the disk.', headers: progress },
      202: accepted,
      ...errors(400, 404, 408, 409, 413, 415, 429, 507),
    },
  },
  get: {
    tags: ['Uploads'],
    summary: 'How far an upload came',
    description: 'HEAD answers the same headers. Whoever sends bytes to it at that moment is cut off.',
    response: {
      200: plainAnswer(
        'Its state.',
        Type.Object({
          action_id: Type.String(),
          offset: Type.Integer({ description: 'Bytes that came.' }),
          complete: Type.Boolean(),
          task_id: Type.Optional(Type.String({ description: 'The task that it became.' })),
        }),
      ),
      ...errors(404, 429),
    },
  },
  delete: {
    tags: ['Uploads'],
    summary: 'Give an upload up',
    response: { 204: { description: 'Its bytes are gone; a task that it became goes on.' }, ...errors(404, 429) },
  },
} as const;
