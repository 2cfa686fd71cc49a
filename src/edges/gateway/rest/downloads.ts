import { Type } from 'typebox';
import { AppError } from '../../../kit/errors.ts';
import { type App, errors, judgedByHandler, optional, plainAnswer, query } from '../../http/schema.ts';
import type { DownloadRequests } from '../intake/download-requests.ts';
import { taskReference } from './schemas.ts';

const requestedWith = Type.Object(
  {
    signature: Type.Optional(Type.String({ minLength: 1, description: 'Base64; the creator’s, over the action id.' })),
  },
  { description: 'Not needed for a public file.' },
);

/** `POST …/{action_id}/downloads`: fetches a file from SuperNodes. */
export function downloadRoutes(app: App, prefix: string, request: DownloadRequests): void {
  const schema = {
    tags: ['Downloads'],
    summary: 'Fetch the file of an action from SuperNodes',
    description:
      'A private file needs the creator’s `signature` over the action id; `public=true` asks for one that everybody may have. The same request while it runs is answered with the running task; of a public file also while the file is kept.',
    querystring: query({ public: optional(Type.String({ enum: ['true', '1', 'false', '0', ''] })) }),
    body: requestedWith,
    response: {
      202: plainAnswer('The task has begun.', taskReference.ref),
      ...errors(400, 401, 404, 409, 413, 415, 429, 507),
    },
  };
  app.post<{ Params: { action_id: string }; Querystring: { public?: unknown }; Body: unknown }>(
    `${prefix}/actions/cascade/:action_id/downloads`,
    { schema, validatorCompiler: judgedByHandler },
    async ({ params: { action_id: actionId }, query: { public: flag }, body, ip }, reply) => {
      const task = await request({ actionId, isPublic: isTrue(flag), signature: signatureIn(body), ip });
      return await reply.code(202).send({ task_id: task.id, taskId: task.id });
    },
  );
}

function isTrue(flag: unknown): boolean {
  if (flag === 'true' || flag === '1') return true;
  if (flag === undefined || flag === '' || flag === 'false' || flag === '0') return false;
  throw new AppError('INVALID_ARGUMENT', 'public takes true or false');
}

function signatureIn(body: unknown): string | undefined {
  const input = typeof body === 'object' && body !== null && 'signature' in body ? body.signature : undefined;
  return typeof input === 'string' && input !== '' ? input : undefined;
}
