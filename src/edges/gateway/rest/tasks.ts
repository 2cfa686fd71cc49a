import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { AppError } from '../../../kit/errors.ts';
import { ListTransfers } from '../../../projections/transfers/queries.ts';
import type { TransferRow } from '../../../projections/tables.ts';
import { runQuery } from '../../bus.ts';
import { isNamedRather } from '../../http/accept.ts';
import { type App, errors, optional, plainAnswer, query, serverSentEvents } from '../../http/schema.ts';
import type { SseStreams } from '../../http/sse.ts';
import { type ResumableFeed, showFeed } from '../../http/sse-resume.ts';
import { createSharedFeeds } from '../../http/sse-shared.ts';
import { findTask, isEnding, statesOf, type Task, uploadRequested } from '../tasks/task-log.ts';
import { type StatusEvent, statusEvent } from '../tasks/views.ts';
import { type GatewayDependencies, longestMs } from './dependencies.ts';
import { statusEventSchema, taskDetail, taskList } from './schemas.ts';

type Params = { Params: { task_id: string } };
type WithStreams = GatewayDependencies & Readonly<{ streams: SseStreams }>;
type Sharing = ReturnType<typeof createSharedFeeds>;

const shownDays = 90;
const mostListed = 100;
const dayMs = 86_400_000;

const statesAnswer = {
  description: 'The states as events, each with the JSON of one as data; as JSON the latest one.',
  content: {
    'text/event-stream': serverSentEvents,
    'application/json': { schema: statusEventSchema.ref },
  },
};

/**
 * The states of tasks: detail, stream, history, lists. Either path accepts upload and download ids, as clients send
 * them.
 */
export function taskRoutes(app: App, prefix: string, dependencies: WithStreams): void {
  const paths = { upload: `${prefix}/actions/cascade/tasks`, download: `${prefix}/downloads/cascade` };
  const shared = createSharedFeeds();
  listRoutes(app, prefix, dependencies);
  for (const [direction, path] of Object.entries(paths)) {
    const tags = [direction === 'upload' ? 'Uploads' : 'Downloads'];
    const history = { 200: plainAnswer('Oldest first.', Type.Array(statusEventSchema.ref)), ...errors(404, 429) };
    app.get<Params>(
      `${path}/:task_id/history`,
      { schema: { tags, summary: 'All states of a task so far', response: history } },
      async ({ params }) => await historyOf(dependencies, await taskOf(dependencies, params.task_id)),
    );
    const status = {
      tags,
      summary: 'The states of a task as they come, as server-sent events; as JSON the latest one',
      response: { 200: statesAnswer, 204: { description: 'The reader has seen all of them.' }, ...errors(404, 429) },
    };
    app.get<Params>(
      `${path}/:task_id/status`,
      { schema: status, config: { lasts: true }, handlerTimeout: longestMs },
      async (request, reply) => await showStatus(dependencies, shared, request, reply),
    );
  }
  const detail = { 200: plainAnswer('What was asked for.', taskDetail.ref), ...errors(404, 429) };
  app.get<Params>(
    `${paths.upload}/:task_id`,
    { schema: { tags: ['Uploads'], summary: 'What was asked for with a task', response: detail } },
    async ({ params }) => await detailOf(dependencies, await taskOf(dependencies, params.task_id)),
  );
}

/** The task of an id; fails with `NOT_FOUND`, whatever the form of the id. */
export async function taskOf({ log }: GatewayDependencies, id: string): Promise<Task> {
  const task = await findTask(log, id);
  if (!task) throw new AppError('NOT_FOUND', 'There is no such task');
  return task;
}

async function historyOf({ log }: GatewayDependencies, task: Task): Promise<StatusEvent[]> {
  const events: StatusEvent[] = [];
  for await (const event of statesOf(log, task, 0)) events.push(statusEvent(task, event));
  return events;
}

async function showStatus(
  dependencies: WithStreams,
  shared: Sharing,
  request: FastifyRequest<Params>,
  reply: FastifyReply,
): Promise<unknown> {
  const { streams } = dependencies;
  const task = await taskOf(dependencies, request.params.task_id);
  if (
    isNamedRather(request, 'application/json', 'text/event-stream') &&
    !isNamedRather(request, 'text/event-stream', 'application/json')
  )
    return (await historyOf(dependencies, task)).at(-1);
  const after = positionOf(request, task);
  if (after === 'all seen') return await reply.code(204).send();
  reply.headers({ 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store, no-transform' });
  const client = streams.open(request, reply);
  if (!client) return reply;
  if (after === 'unknown') client.comment('no such event of this task; here is all of it');
  const feed = shared(task.name, feedOf(dependencies, task));
  // Nothing waits for its end: what an answer is made with need not stay as long as its reader.
  const { logger } = dependencies;
  showFeed(client, feed, after === 'unknown' ? 0 : after, (caught) =>
    logger.debug({ err: caught }, 'a stream of states ended early'),
  );
  return reply;
}

function feedOf({ log }: GatewayDependencies, task: Task): ResumableFeed {
  return {
    history: async function* (after: number) {
      for await (const event of statesOf(log, task, after)) {
        const data = JSON.stringify(statusEvent(task, event));
        yield { id: event.number, data, ...(isEnding(event) && { endsAs: event.status }) };
      }
    },
    watch: (onMore: () => void) => log.watch([task.kind], onMore, task.name),
  };
}

/**
 * The position from which a returning reader continues; an unknown one is a position that this task has not reached.
 */
function positionOf({ headers, query: requested }: FastifyRequest, { known }: Task): number | 'all seen' | 'unknown' {
  const inQuery =
    typeof requested === 'object' && requested !== null && 'lastEventId' in requested
      ? requested.lastEventId
      : undefined;
  const input = headers['last-event-id'] ?? inQuery;
  if (input === undefined || input === '') return 0;
  const location = typeof input === 'string' && /^\d{1,9}$/.test(input) ? Number(input) : Infinity;
  if (location > known.last || location === 0) return 'unknown';
  return known.ended && location === known.last ? 'all seen' : location;
}

async function detailOf({ log }: GatewayDependencies, task: Task): Promise<Record<string, unknown>> {
  const { id, known } = task;
  let status = 'sdk:started';
  for await (const event of statesOf(log, task, known.last - 1)) ({ status } = event);
  const common = { task_id: id, action_id: known.action, kind: known.direction, status, created_at: known.beganAt };
  if (known.direction !== 'upload') return common;
  const listQuery = await uploadRequested(log, id);
  return {
    ...common,
    file_name: listQuery?.fileName ?? '',
    file_path: `uploads/${id}`,
    file_size_kbs: Math.ceil(Number(listQuery?.size ?? 0) / 1024),
    signature: listQuery?.signature ?? '',
  };
}

function listRoutes(app: App, prefix: string, { reader, clock }: GatewayDependencies): void {
  const list = async (direction: 'upload' | 'download', action?: string) => {
    const since = new Date(clock() - shownDays * dayMs).toISOString();
    const listing = { direction, action, since, limit: mostListed };
    const { rows, total } = await reader.read((reading) => runQuery(reading, new ListTransfers(listing)));
    return { requests: rows.map(listed), count: total };
  };
  const response = { 200: plainAnswer('Newest first.', taskList.ref), ...errors(400, 429) };
  const schemaOf = (tag: string, summary: string) => ({ tags: [tag], summary, response });
  const uploads = schemaOf('Uploads', 'The latest uploads');
  app.get(`${prefix}/actions/cascade/tasks`, { schema: uploads }, async () => await list('upload'));
  app.get<{ Params: { action_id: string } }>(
    `${prefix}/actions/cascade/:action_id/tasks`,
    { schema: schemaOf('Uploads', 'The uploads of an action') },
    async ({ params }) => await list('upload', params.action_id),
  );
  const querystring = query({ action_id: optional(Type.String({ description: 'Of this action only.' })) });
  const downloads = { ...schemaOf('Downloads', 'The latest downloads of public files'), querystring };
  app.get(
    `${prefix}/downloads/cascade/tasks`,
    { schema: downloads },
    async ({ query: { action_id: action } }) => await list('download', action),
  );
}

function listed({ task, action, file_name, size, status, created_at }: TransferRow) {
  const file_size_kbs = size === null ? null : Math.ceil(size / 1024);
  return { task_id: task, action_id: action, file_name, file_size_kbs, status, created_at };
}
