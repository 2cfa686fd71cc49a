import type { FastifyReply, FastifyRequest } from 'fastify';
import type { KnownHook } from '../../commands/hooks/hook-state.ts';
import type { Heads } from '../../engine/log/head.ts';
import { eventType } from '../../events/upcast.ts';
import { isFactType } from '../../events/catalogue.ts';
import type { HookAdministration, RecordHookAct } from '../hooks/administration.ts';
import { isOfAnother, lagOf } from '../hooks/observed.ts';
import { type App, errors, plainAnswer } from '../http/schema.ts';
import type { ActOperator } from './operation-records.ts';
import type { OperatorWork } from './operations.ts';
import { hookAnswers, hookChange, hookParams, registration, replay, rotation } from './hook-schemas.ts';

/** What shows whose request it is. */
type Requested = Pick<FastifyRequest, 'headers'>;

/** What the routes of webhooks work on. */
export type HookRoutes = Readonly<{
  hooks: HookAdministration;
  heads: () => Promise<Heads>;
  operations: Pick<OperatorWork, 'record'>;
  /** Who a request is of. */
  operatorOf: (request: Requested) => ActOperator;
}>;

/** Name of their group in the document. */
export const hookTag = 'Webhooks';
const tags = [hookTag];

/** Routes of webhooks: where events are sent, and how far that is. */
export function addHooks(app: App, { hooks, heads, operations, operatorOf }: HookRoutes): void {
  const recordFor: RecordFor = (request) => async (act, hook, work) =>
    await operations.record({ act, target: hook, operator: operatorOf(request) }, work);
  const one = async (hook: string, known: KnownHook) => hookView(hook, known, await heads());
  const answered = async (id: string) => await one(id, await hooks.find(id));
  addActsOnHooks(app, { hooks, answered, recordFor });
  const listSchema = {
    tags,
    operationId: 'hooks',
    summary: 'Webhooks and how far they are',
    response: { 200: plainAnswer('Those that were not removed.', hookAnswers.list.ref), ...errors() },
  };
  app.get('/admin/v1/hooks', { schema: listSchema }, async () => {
    const [all, ends] = await Promise.all([hooks.list(), heads()]);
    return { hooks: [...all].map(([hook, known]) => hookView(hook, known, ends)) };
  });
  app.get(
    '/admin/v1/hooks/:id',
    { schema: schemaOf('hook', 'A webhook and how far it is') },
    async ({ params: { id } }) => await answered(id),
  );
  const createSchema = {
    tags,
    operationId: 'register_hook',
    summary: 'Register a webhook',
    description: 'The answer shows the secret, which is shown nowhere else.',
    body: registration,
    response: { 201: plainAnswer('It is registered.', hookAnswers.registered.ref), ...errors(400, 409) },
  };
  app.post('/admin/v1/hooks', { schema: createSchema }, async (request, reply) => {
    const { hook, known, secret } = await hooks.register(request.body, recordFor(request));
    reply.code(201).header('location', `/admin/v1/hooks/${hook}`);
    return { hook: await one(hook, known), secret };
  });
}

type RecordFor = (request: Requested) => RecordHookAct;
type Acting = Readonly<{
  hooks: HookAdministration;
  answered: (id: string) => Promise<ReturnType<typeof hookView>>;
  recordFor: RecordFor;
}>;

function addActsOnHooks(app: App, { hooks, answered, recordFor }: Acting): void {
  const change = { ...schemaOf('change_hook', 'Change, disable or enable a webhook', 400), body: hookChange };
  app.patch('/admin/v1/hooks/:id', { schema: change }, async ({ params: { id }, body, headers }) => {
    await hooks.change(id, body, recordFor({ headers }));
    return await answered(id);
  });
  const retry = schemaOf('retry_hook', 'Try again now what waits, and enable a webhook that is disabled');
  app.post('/admin/v1/hooks/:id/retry', { schema: retry }, async ({ params: { id }, headers }) => {
    await hooks.retry(id, recordFor({ headers }));
    return await answered(id);
  });
  const remove = {
    ...schemaOf('remove_hook', 'Remove a webhook'),
    response: { 204: { description: 'It is removed.', type: 'null' }, ...errors(404) },
  };
  app.delete('/admin/v1/hooks/:id', { schema: remove }, async (request, reply): Promise<FastifyReply> => {
    await hooks.remove(request.params.id, recordFor(request));
    return await reply.code(204).send();
  });
  const again = { ...schemaOf('replay_hook', 'Send events again from a position', 400), body: replay };
  app.post('/admin/v1/hooks/:id/replay', { schema: again }, async ({ params: { id }, body, headers }) => {
    await hooks.replay(id, body, recordFor({ headers }));
    return await answered(id);
  });
  addSecretAndTest(app, { hooks, answered, recordFor });
}

function addSecretAndTest(app: App, { hooks, answered, recordFor }: Acting): void {
  const rotate = {
    ...schemaOf('rotate_hook_secret', 'Sign with another secret'),
    querystring: rotation,
    response: { 200: plainAnswer('The secret from now on.', hookAnswers.registered.ref), ...errors(400, 404) },
  };
  app.post('/admin/v1/hooks/:id/rotate', { schema: rotate }, async ({ params: { id }, query, headers }) => {
    const secret = await hooks.rotate(id, query.grace_seconds, recordFor({ headers }));
    return { hook: await answered(id), secret };
  });
  const test = {
    ...schemaOf('test_hook', 'Send an event to try a webhook out'),
    response: { 200: plainAnswer('What the receiver answered.', hookAnswers.tested.ref), ...errors(404) },
  };
  app.post('/admin/v1/hooks/:id/test', { schema: test }, async ({ params: { id } }) => await hooks.test(id));
}

function schemaOf(operationId: string, summary: string, ...statuses: readonly 400[]) {
  return {
    tags,
    operationId,
    summary,
    params: hookParams,
    response: { 200: plainAnswer('The webhook.', hookAnswers.hook.ref), ...errors(404, ...statuses) },
  };
}

function hookView(id: string, known: KnownHook, heads: Heads) {
  const { lastFailure } = known;
  return {
    id,
    url: known.url,
    description: known.description,
    streams: known.positions.map((one) => ({
      name: one.stream,
      position: one.sequence,
      lag_events: lagOf(heads, one.stream, one.sequence),
      created_anew: isOfAnother(heads, one),
    })),
    types: known.types.map((type) => (isFactType(type) ? eventType(type) : type)),
    entity: known.entity ?? null,
    status: known.status as 'enabled' | 'disabled' | 'removed',
    disabled_reason: known.disabledReason ?? null,
    created_at: known.createdAt,
    previous_secret_until: known.previousUntil ?? null,
    paused_until: known.pausedUntil ?? null,
    delivered: known.delivered,
    failed: known.failed,
    last_delivered_at: known.lastDeliveredAt ?? null,
    last_failure: lastFailure ? { ...lastFailure, status: lastFailure.status ?? null } : null,
    waiting: known.waiting.map(({ stream, entity, sequence, attempts, since, nextAt }) => ({
      stream,
      entity,
      sequence,
      attempts,
      since,
      next_at: nextAt,
    })),
  };
}
