import { createHmac, randomBytes } from 'node:crypto';
import { Type } from 'typebox';
import { AppError } from '../../../commands/errors.ts';
import { type App, errors, judgedByHandler, optional, plainAnswer, query } from '../../http/schema.ts';
import { actionOnChain, checkServed, checkSignature, checkStored, type FileAction } from '../intake/checks.ts';
import { createSpace } from '../intake/space.ts';
import { beginTask, newTaskId, type Task } from '../tasks/task-log.ts';
import type { GatewayDependencies } from './dependencies.ts';
import { taskReference } from './schemas.ts';

type Asked = Readonly<{ actionId: string; isPublic: boolean; signature: string | undefined }>;

/** Begins what is asked for, or joins it. */
export type DownloadRequests = (asked: Asked) => Promise<Task>;

const askedWith = Type.Object(
  { signature: Type.Optional(Type.String({ description: 'Base64; the creator’s, over the action id.' })) },
  { description: 'Not needed for a public file.' },
);

/** `POST …/{action_id}/downloads`: fetches a file from SuperNodes. */
export function downloadRoutes(app: App, prefix: string, request: DownloadRequests): void {
  const schema = {
    tags: ['Downloads'],
    summary: 'Fetch the file of an action from SuperNodes',
    description:
      'A private file needs the creator’s `signature` over the action id; `public=true` asks for one that everybody may have. Asked again while it runs, it gives the running task.',
    querystring: query({ public: optional(Type.String({ enum: ['true', '1', 'false', '0', ''] })) }),
    body: askedWith,
    response: {
      202: plainAnswer('The task has begun.', taskReference.ref),
      ...errors(400, 401, 404, 409, 413, 415, 429, 507),
    },
  };
  app.post<{ Params: { action_id: string }; Querystring: { public?: unknown }; Body: unknown }>(
    `${prefix}/actions/cascade/:action_id/downloads`,
    { schema, validatorCompiler: judgedByHandler },
    async ({ params, query: { public: flag }, body }, reply) => {
      const asked = { actionId: params.action_id, isPublic: isTrue(flag), signature: signatureIn(body) };
      const task = await request(asked);
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
  const given = typeof body === 'object' && body !== null && 'signature' in body ? body.signature : undefined;
  return typeof given === 'string' && given !== '' ? given : undefined;
}

/** Begins downloads; the same request again joins the task that runs. Signatures are known by a keyed hash alone. */
export function createDownloadRequests(dependencies: GatewayDependencies): DownloadRequests {
  const { chain, files, log, runner, settings, clock } = dependencies;
  const secret = randomBytes(32);
  const space = createSpace(files.folder, settings.transferSpace);
  const underWay = new Map<string, Promise<Task>>();
  const begin = async (action: FileAction, signature: string | undefined): Promise<Task> => {
    const at = new Date(clock()).toISOString();
    const isPrivate = signature !== undefined;
    const task = await beginTask(log, newTaskId(), {
      direction: 'download',
      isPrivate,
      action: action.id,
      at,
      store: files.store,
    });
    runner.run(task, signature);
    return task;
  };
  return async ({ actionId, isPublic, signature }) => {
    const byChain = settings.publicDownloads === 'chain';
    if (!isPublic && signature === undefined && !byChain) throw unsigned();
    const action = await actionOnChain(chain, actionId);
    checkStored(action);
    const opens = await openerOf(dependencies, action, { isPublic, signature, byChain });
    await checkServed(chain, action);
    const release = await space.reserve(0);
    release();
    const key = createHmac('sha256', secret)
      .update(`${actionId}\n${opens ?? ''}`)
      .digest('base64');
    const running = underWay.get(key);
    if (running) return await running;
    const begun = begin(action, opens);
    underWay.set(key, begun);
    void begun
      .then(async (task) => await runner.endOf(task))
      .catch(() => undefined)
      .finally(() => underWay.delete(key));
    return await begun;
  };
}

type Shown = Readonly<{ isPublic: boolean; signature: string | undefined; byChain: boolean }>;

/** The signature that opens a file: none for a public one. Fails with `UNAUTHORIZED` where there is no right to it. */
async function openerOf(
  { chain, settings }: GatewayDependencies,
  action: FileAction,
  { isPublic, signature, byChain }: Shown,
): Promise<string | undefined> {
  if (action.file.isPublic && (isPublic || byChain || signature !== undefined)) return undefined;
  if (isPublic) throw new AppError('UNAUTHORIZED', 'The file is private; ask with the signature of its creator');
  if (signature === undefined) throw unsigned();
  await checkSignature({ chain, settings }, action, { text: action.id, signature });
  return signature;
}

function unsigned(): AppError {
  return new AppError('INVALID_ARGUMENT', 'signature is required');
}
