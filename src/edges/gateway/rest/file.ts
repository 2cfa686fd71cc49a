import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { AppError } from '../../../commands/errors.ts';
import { type App, errors } from '../../http/schema.ts';
import { baseName } from '../intake/file-name.ts';
import { statesOf, type Task } from '../tasks/task-log.ts';
import { type GatewayDependencies, longestMs } from './dependencies.ts';
import { taskOf } from './tasks.ts';

/** `GET …/file`: gives a fetched file out. */
export function fileRoutes(app: App, prefix: string, dependencies: GatewayDependencies): void {
  const file = {
    tags: ['Downloads'],
    summary: 'The fetched file',
    response: {
      200: { description: 'The bytes.', content: { 'application/octet-stream': { schema: Type.String() } } },
      ...errors(404),
    },
  };
  app.get<{ Params: { task_id: string } }>(
    `${prefix}/downloads/cascade/:task_id/file`,
    { schema: file, handlerTimeout: longestMs },
    async ({ params }, reply) => await giveFile(dependencies, await taskOf(dependencies, params.task_id), reply),
  );
}

async function giveFile(dependencies: GatewayDependencies, task: Task, reply: FastifyReply): Promise<unknown> {
  const { chain, files, log, settings, clock } = dependencies;
  const { known, name } = task;
  if (known.direction === 'upload') throw new AppError('NOT_FOUND', 'This task is an upload; it has no file to give');
  if (!known.ended) {
    reply.header('retry-after', '1');
    throw new AppError('CONFLICT', 'The file is not there yet; watch the status of the task');
  }
  for await (const event of statesOf(log, task, known.last - 1))
    if (event.status === 'sdk:failed') {
      throw new AppError('CONFLICT', `The download failed: ${event.detail?.error ?? 'no reason is known'}`);
    }
  const at = await files.fetchedAt(name);
  if (known.store !== files.store)
    throw new AppError('UNAVAILABLE', 'The file lies with another gateway; ask again, or request it anew');
  if (at === undefined || clock() - at > settings.downloadKeepMs)
    throw new AppError('GONE', 'The file is no longer kept; request the download again');
  const path = files.fetchedOf(name);
  const { size } = await stat(path);
  const action = await chain.action(known.action).catch(() => undefined);
  const fileName = baseName(action?.file?.name ?? '');
  const ascii = fileName.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_');
  return await reply
    .headers({
      'content-type': 'application/octet-stream',
      'content-length': String(size),
      'cache-control': 'private, no-transform',
      'content-disposition': `attachment; filename="${ascii}"; filename*=UTF-8''${encoded(fileName)}`,
    })
    .send(createReadStream(path, { highWaterMark: 1 << 20 }));
}

function encoded(name: string): string {
  return encodeURIComponent(name).replaceAll(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
}
