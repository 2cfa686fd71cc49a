import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Generation } from '../../engine/models/engine/generations.ts';
import { isArchived, isProven, type StreamName, streams, streamTable } from '../../events/streams.ts';
import { AppError } from '../../kit/errors.ts';
import { type ProjectionName, projectionNames } from '../../projections/projection.ts';
import { type App, component, errors, nullable, optional, plainAnswer, query, time, words } from '../http/schema.ts';
import { type Act, type ActOperator, type Operation, operationStatuses } from './operation-records.ts';
import type { OperationWork, OperatorWork } from './operations.ts';

/** What an operator may have done; each is work that may take long. */
export type Acts = Readonly<{
  rebuild: (projection: ProjectionName) => OperationWork;
  back: (projection: ProjectionName) => OperationWork;
  drop: (projection: ProjectionName) => OperationWork;
  pause: (projection: ProjectionName) => OperationWork;
  resume: (projection: ProjectionName) => OperationWork;
  checkpoint: (log: StreamName) => OperationWork;
  scrub: (stream: StreamName) => OperationWork;
  repair: (stream: StreamName) => OperationWork;
}>;

/** What acts need: the work, the list of what runs, and the generations that `If-Match` names. */
export type ActOptions = Readonly<{
  acts: Acts;
  operations: OperatorWork;
  generations: () => Promise<readonly Generation[]>;
  /** Who a request is of. */
  operatorOf: (request: FastifyRequest) => ActOperator;
}>;

const tags = ['Operations'];
const mostKeyCharacters = 256;

/** An operation as the routes show it. */
export const operation = component(
  'Operation',
  Type.Object({
    id: Type.String({ description: 'Id of the operation.' }),
    act: Type.String({ description: 'What is done.' }),
    target: Type.String({ description: 'The read model or stream that it is done to.' }),
    operator: Type.Object(
      { via: Type.String({ description: '`socket`, `cli` or `token`.' }), name: Type.String() },
      { description: 'Who requested it: the user that the socket belongs to, or the name of a token.' },
    ),
    holder: Type.String({ description: 'Host, process and a random word of the process that works on it.' }),
    status: words(operationStatuses, { description: '`interrupted`: the process that worked on it is gone.' }),
    started_at: time('When it was started.'),
    ended_at: nullable(time('When it ended.')),
    progress: nullable(
      Type.Object(
        {
          done: Type.Integer(),
          total: Type.Integer(),
          eta_seconds: nullable(Type.Number({ description: 'How long the rest takes, at the rate so far.' })),
        },
        { description: 'In events; of what the answering process works on.' },
      ),
    ),
    result: nullable(Type.Unsafe<object>({ type: 'object', additionalProperties: true, description: 'What it did.' })),
    error: nullable(
      Type.Object({ error: Type.String(), code: Type.String() }, { description: 'Why it failed, as of a refusal.' }),
    ),
  }),
);
const operationList = component('Operations', Type.Object({ operations: Type.Array(operation.ref) }));

/** The components of these routes. */
export const actComponents = [operation, operationList];

/** An operation in the form of its component. */
export function operationView({ startedAt, endedAt, progress, ...one }: Operation) {
  const shown = progress && { done: progress.done, total: progress.total, eta_seconds: progress.etaSeconds };
  return { ...one, started_at: startedAt, ended_at: endedAt, progress: shown };
}

const keyHeader = {
  'Idempotency-Key': optional(
    Type.String({
      maxLength: mostKeyCharacters,
      description: 'A second request of the same key starts nothing and answers the same operation.',
    }),
  ),
};
const keyHeaders = query(keyHeader);
const projectionHeaders = query({
  ...keyHeader,
  'If-Match': optional(
    Type.String({ description: 'The live generation, as `"3"`: refused with 409 where another one is live.' }),
  ),
});

/** Routes of what an operator has done: long work, which is answered as an operation. */
export function addActs(app: App, { acts, operations, generations, operatorOf }: ActOptions): void {
  const start = async (reply: FastifyReply, act: Act, work: OperationWork) => {
    const started = await operations.start(act, work);
    reply.code(202).header('location', `/admin/v1/operations/${started.id}`);
    return operationView(started);
  };
  for (const [act, what] of projectionActs) {
    const schema = { ...actSchema(`${act}_projection`, what), headers: projectionHeaders };
    app.post(`/admin/v1/projections/:name/${act}`, { schema }, async (request, reply) => {
      const { params, headers: sent } = request;
      const name = known(projectionNames, params.name);
      await checkMatch(sent['if-match'], name, generations);
      const wanted = { act, target: name, key: keyIn(sent), operator: operatorOf(request) };
      return await start(reply, wanted, acts[act](name));
    });
  }
  const signing = actSchema('sign_checkpoint', 'Sign a checkpoint of all events that a log has now');
  app.post('/admin/v1/logs/:name/checkpoint', { schema: signing }, async (request, reply) => {
    const { params, headers: sent } = request;
    const name = known(proven, params.name);
    const wanted = { act: 'checkpoint', target: name, key: keyIn(sent), operator: operatorOf(request) };
    return await start(reply, wanted, acts.checkpoint(name));
  });
  for (const act of ['scrub', 'repair'] as const) {
    const schema = actSchema(`${act}_stream`, `${act === 'scrub' ? 'Compare' : 'Repair'} a stream and its archive`);
    app.post(`/admin/v1/streams/:name/${act}`, { schema }, async (request, reply) => {
      const { params, headers: sent } = request;
      const name = known(archived, params.name);
      const wanted = { act, target: name, key: keyIn(sent), operator: operatorOf(request) };
      return await start(reply, wanted, acts[act](name));
    });
  }
  addOperations(app, operations);
}

const projectionActs = [
  ['rebuild', 'Rebuild a read model'],
  ['back', 'Go back to the generation of a read model that was live before'],
  ['drop', 'Drop the generation of a read model that was live before; waits until no reader looks at it'],
  ['pause', 'Pause a read model: readers see it as it is, until it is resumed'],
  ['resume', 'Resume a read model that is paused'],
] as const;

const proven = streams.filter((name) => isProven(streamTable[name]));
const archived = streams.filter((name) => isArchived(streamTable[name]));

function actSchema(operationId: string, summary: string) {
  return {
    tags,
    operationId,
    summary,
    headers: keyHeaders,
    params: Type.Object({ name: Type.String({ description: 'Its name.' }) }),
    response: { 202: plainAnswer('It runs; `Location` shows how far.', operation.ref), ...errors(400, 404, 409, 429) },
  };
}

function addOperations(app: App, operations: OperatorWork): void {
  const params = Type.Object({ id: Type.String({ description: 'Id of the operation.' }) });
  const listSchema = {
    tags,
    operationId: 'operations',
    summary: 'Operations, the last ones first',
    response: { 200: plainAnswer('The last 100 of the network.', operationList.ref), ...errors() },
  };
  app.get('/admin/v1/operations', { schema: listSchema }, async () => ({
    operations: (await operations.list()).map(operationView),
  }));
  const response = { 200: plainAnswer('The operation.', operation.ref), ...errors(404) };
  const one = { tags, operationId: 'operation', summary: 'How far an operation is', params, response };
  app.get('/admin/v1/operations/:id', { schema: one }, async ({ params: { id } }) =>
    operationView(await operations.find(id)),
  );
  const cancel = {
    ...one,
    operationId: 'cancel_operation',
    summary: 'End the work of an operation',
    response: { ...response, ...errors(404, 409) },
  };
  app.post('/admin/v1/operations/:id/cancel', { schema: cancel }, async ({ params: { id } }) =>
    operationView(await operations.cancel(id)),
  );
}

function known<const T extends string>(names: readonly T[], name: string): T {
  const match = names.find((one) => one === name);
  if (match !== undefined) return match;
  throw new AppError('NOT_FOUND', `There is no such name; these there are: ${names.join(', ')}.`);
}

function keyIn(sent: Readonly<Record<string, unknown>>): string | undefined {
  const key = sent['idempotency-key'];
  if (typeof key !== 'string') return undefined;
  if (key !== '' && key.length <= mostKeyCharacters) return key;
  throw new AppError('INVALID_ARGUMENT', `Idempotency-Key takes 1 to ${mostKeyCharacters} characters.`);
}

async function checkMatch(
  wanted: unknown,
  name: ProjectionName,
  generations: ActOptions['generations'],
): Promise<void> {
  if (typeof wanted !== 'string') return;
  const live = (await generations()).find((one) => one.projection === name && one.status === 'live')?.generation;
  if (live === undefined || wanted.replaceAll('"', '') !== String(live))
    throw new AppError('CONFLICT', `If-Match names another generation of ${name}; ${live ?? 'none'} is live.`);
}
