import { open } from 'node:fs/promises';
import { LRUCache } from 'lru-cache';
import { Type } from 'typebox';
import { AppError } from '../../../kit/errors.ts';
import { createTurns } from '../../../kit/turns.ts';
import { answerFile, type FileAnswer } from '../../http/file-answer.ts';
import { type App, errors } from '../../http/schema.ts';
import { baseName } from '../intake/file-name.ts';
import { statesOf, type Task } from '../tasks/task-log.ts';
import { type GatewayDependencies, longestMs } from './dependencies.ts';
import { taskOf } from './tasks.ts';

/** The chain's record of a file, which never changes. */
type About = Readonly<{ etag: string; name: string }>;

const mostAbouts = 1_000;
/** Answers at once, each of which holds pieces of its file, up to 1 MiB. */
const answers = { what: 'answers with files', mostPerAddress: 64, most: 1_024 } as const;

/** `GET …/file`: sends a fetched file, or ranges of it. */
export function fileRoutes(app: App, prefix: string, dependencies: GatewayDependencies): void {
  const takeTurn = createTurns(answers);
  const abouts = new LRUCache<string, About>({ max: mostAbouts });
  const bytes = (description: string) => ({
    description,
    content: { 'application/octet-stream': { schema: Type.Unsafe<unknown>({ type: 'string', format: 'binary' }) } },
  });
  const schema = {
    tags: ['Downloads'],
    summary: 'The fetched file',
    description:
      'There once the task has completed, for a while. Ranges, `If-Range`, `If-Match` and `If-None-Match` are heard.',
    response: {
      200: bytes('The bytes.'),
      206: bytes('The ranges asked for.'),
      304: { description: 'The reader has it.' },
      ...errors(404, 409, 410, 412, 416, 429),
    },
  };
  app.get<{ Params: { task_id: string } }>(
    `${prefix}/downloads/cascade/:task_id/file`,
    { schema, handlerTimeout: longestMs, config: { lasts: true } },
    async (request, reply) => {
      reply.raw.once('close', takeTurn(request.ip));
      const task = await taskOf(dependencies, request.params.task_id);
      if (!task.known.ended) reply.header('retry-after', '1');
      await checkThere(dependencies, task);
      const file = await fetched(dependencies, abouts, task);
      return await answerFile(request, reply, file);
    },
  );
}

async function checkThere({ log }: GatewayDependencies, task: Task): Promise<void> {
  const { known } = task;
  if (known.direction === 'upload') throw new AppError('NOT_FOUND', 'This task is an upload; it has no file to give');
  if (!known.ended) throw new AppError('CONFLICT', 'The file is not there yet; watch the status of the task');
  for await (const event of statesOf(log, task, known.last - 1))
    if (event.status === 'sdk:failed')
      throw new AppError('CONFLICT', `The download failed: ${event.detail?.error ?? 'no reason is known'}`);
}

/** The file of a task that has completed; fails with `GONE` when it is deleted already. */
async function fetched(
  { chain, files, settings: { downloadKeepMs }, clock }: GatewayDependencies,
  abouts: LRUCache<string, About>,
  { name, known }: Task,
): Promise<FileAnswer> {
  const at = await files.fetchedAt(name);
  if (at === undefined && known.store !== files.store)
    throw new AppError('UNAVAILABLE', 'The file lies with another gateway; ask again, or request it anew');
  if (at === undefined || clock() - at > downloadKeepMs) throw gone();
  const { etag, name: fileName } = abouts.get(known.action) ?? (await aboutOf(chain, known.action));
  abouts.set(known.action, { etag, name: fileName });
  const handle = await open(files.fetchedOf(name)).catch((caught: unknown) => {
    throw caught instanceof Error && 'code' in caught && caught.code === 'ENOENT' ? gone() : caught;
  });
  try {
    return { handle, size: (await handle.stat()).size, etag, name: fileName };
  } catch (caught) {
    await handle.close();
    throw caught;
  }
}

async function aboutOf(chain: GatewayDependencies['chain'], action: string): Promise<About> {
  const file = (await chain.action(action))?.file;
  if (!file) throw new AppError('UNAVAILABLE', 'The chain does not say what file it is; try again later');
  return { etag: `"${file.dataHash}"`, name: baseName(file.name) };
}

function gone(): AppError {
  return new AppError('GONE', 'The file is no longer kept; request the download again');
}
